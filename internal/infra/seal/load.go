package seal

import (
	"crypto/rand"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// KeyFile is the name of the key file in the data directory.
const KeyFile = "seal.key"

// Load makes the sealer of this installation: from keyText if it is given (GATEHOUSE_SEAL_KEY: 32 bytes as base64 or
// hex), else from the key file in dataDir, which is made on the first start, readable by its owner alone. Two processes
// that start at once end up with the same key. No error holds the key.
//
// A new key file beside an old database is how a lost key shows: every value sealed before fails with a *WrongKeyError.
func Load(keyText, dataDir string) (*Sealer, error) {
	if keyText = strings.TrimSpace(keyText); keyText != "" {
		key, err := parseKey(keyText)
		if err != nil {
			return nil, fmt.Errorf("GATEHOUSE_SEAL_KEY: %w", err)
		}
		return New(key)
	}
	path := filepath.Join(dataDir, KeyFile)
	key, err := readKey(path)
	if errors.Is(err, fs.ErrNotExist) {
		if err = createKey(path); err == nil {
			key, err = readKey(path)
		}
	}
	if err != nil {
		return nil, fmt.Errorf("seal key file: %w", err)
	}
	return New(key)
}

var errKeyText = errors.New("not 32 bytes written as base64 (44 characters) or hex (64 characters)")

func parseKey(text string) ([]byte, error) {
	if key, err := hex.DecodeString(text); err == nil && len(key) == KeyBytes {
		return key, nil
	}
	bare := strings.TrimRight(text, "=")
	for _, encoding := range []*base64.Encoding{base64.RawStdEncoding, base64.RawURLEncoding} {
		if key, err := encoding.DecodeString(bare); err == nil && len(key) == KeyBytes {
			return key, nil
		}
	}
	return nil, errKeyText
}

func readKey(path string) ([]byte, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	// A group may be how a container's volume is shared; the world never is.
	if info.Mode().Perm()&0o007 != 0 {
		return nil, fmt.Errorf("%s is open to every user of this machine: run chmod 600 on it", path)
	}
	raw, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	key, err := parseKey(strings.TrimSpace(string(raw)))
	if err != nil {
		return nil, fmt.Errorf("%s: %w: restore it from a backup", path, err)
	}
	return key, nil
}

// createKey writes a new key whole or not at all, and leaves a key that is already there alone: link, unlike rename,
// fails on an existing name.
func createKey(path string) error {
	dir := filepath.Dir(path)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	file, err := os.CreateTemp(dir, KeyFile+".*") // made with 0600
	if err != nil {
		return err
	}
	defer func() { _ = os.Remove(file.Name()) }()
	key := make([]byte, KeyBytes)
	_, _ = rand.Read(key) // never fails: crypto/rand ends the process instead
	_, err = file.WriteString(base64.StdEncoding.EncodeToString(key) + "\n")
	if err == nil {
		err = file.Sync() // a key that a power cut loses takes every secret sealed since with it
	}
	if closed := file.Close(); err == nil {
		err = closed
	}
	if err != nil {
		return err
	}
	if err := os.Link(file.Name(), path); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	return syncDir(dir)
}

func syncDir(dir string) error {
	handle, err := os.Open(dir)
	if err != nil {
		return err
	}
	err = handle.Sync()
	if closed := handle.Close(); err == nil {
		err = closed
	}
	return err
}
