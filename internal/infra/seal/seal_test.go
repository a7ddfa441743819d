package seal

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

func sealer(t testing.TB, fill byte) *Sealer {
	t.Helper()
	s, err := New(bytes.Repeat([]byte{fill}, KeyBytes))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestSealedValuesOpenOnlyInTheirPlaceAndUnderTheirKey(t *testing.T) {
	t.Parallel()
	s, other := sealer(t, 1), sealer(t, 2)
	secret := []byte("whsec_SECRET")
	a, b := s.Seal(secret, "endpoint:1"), s.Seal(secret, "endpoint:1")
	if bytes.Equal(a, b) || bytes.Contains(a, []byte("SECRET")) {
		t.Error("sealed values repeat or show the secret")
	}
	if got, err := s.Open(a, "endpoint:1"); err != nil || !bytes.Equal(got, secret) {
		t.Errorf("%q, %v", got, err)
	}
	if _, err := s.Open(a, "endpoint:2"); !errors.Is(err, ErrDamaged) {
		t.Errorf("in another place: %v", err)
	}
	var wrong *WrongKeyError
	if _, err := other.Open(a, "endpoint:1"); !errors.As(err, &wrong) || wrong.Sealed != s.KeyID() || wrong.Have != other.KeyID() {
		t.Errorf("under another key: %v", err)
	}
	if got, err := s.Open(s.Seal(nil, ""), ""); err != nil || len(got) != 0 {
		t.Errorf("nothing: %q, %v", got, err)
	}
}

func TestEveryAlteredByteIsNoticed(t *testing.T) {
	t.Parallel()
	s := sealer(t, 1)
	sealed := s.Seal([]byte("secret"), "p")
	for i := range sealed {
		altered := bytes.Clone(sealed)
		altered[i] ^= 1
		if got, err := s.Open(altered, "p"); err == nil {
			t.Errorf("byte %d: opened to %q", i, got)
		}
		if _, err := s.Open(sealed[:i], "p"); !errors.Is(err, ErrDamaged) {
			t.Errorf("cut at %d: %v", i, err)
		}
	}
}

func TestKeyFromTheEnvironment(t *testing.T) {
	t.Parallel()
	key := bytes.Repeat([]byte{0xfb}, KeyBytes)
	want, err := New(key)
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{hex.EncodeToString(key), strings.ToUpper(hex.EncodeToString(key)), base64.StdEncoding.EncodeToString(key),
		base64.RawURLEncoding.EncodeToString(key), " " + base64.URLEncoding.EncodeToString(key) + "\n"} {
		got, err := Load(text, "")
		if err != nil || got.KeyID() != want.KeyID() {
			t.Errorf("%q: %v", text, err)
		}
	}
	for _, text := range []string{"SECRET", "SECRET" + hex.EncodeToString(key), hex.EncodeToString(key[:16]), base64.StdEncoding.EncodeToString(append(key, 1))} {
		_, err := Load(text, t.TempDir())
		if err == nil || strings.Contains(err.Error(), text) || !strings.Contains(err.Error(), "GATEHOUSE_SEAL_KEY") {
			t.Errorf("%q: %v", text, err)
		}
	}
}

func TestKeyFileIsMadeOnceAndKept(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "data")
	ids := make([]string, 8)
	var starting sync.WaitGroup
	for i := range ids {
		starting.Go(func() {
			s, err := Load("", dir)
			if err != nil {
				t.Error(err)
				return
			}
			ids[i] = s.KeyID()
		})
	}
	starting.Wait()
	for _, id := range ids {
		if id != ids[0] {
			t.Fatalf("starting at once gave keys %v", ids)
		}
	}
	files, err := os.ReadDir(dir)
	if err != nil || len(files) != 1 {
		t.Fatalf("left over: %v, %v", files, err)
	}
	info, err := os.Stat(filepath.Join(dir, KeyFile))
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
}

func TestKeyFileThatCannotBeUsed(t *testing.T) {
	t.Parallel()
	for name, spoil := range map[string]func(path string) error{
		"open to all": func(path string) error { return os.Chmod(path, 0o604) },
		"cut":         func(path string) error { return os.Truncate(path, 10) },
		"empty":       func(path string) error { return os.Truncate(path, 0) },
	} {
		dir := t.TempDir()
		if _, err := Load("", dir); err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(dir, KeyFile)
		before, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if err := spoil(path); err != nil {
			t.Fatal(err)
		}
		_, err = Load("", dir)
		if err == nil || strings.Contains(err.Error(), string(before[:10])) {
			t.Errorf("%s: %v", name, err)
		}
		if left, err := os.ReadFile(path); err != nil || !bytes.HasPrefix(before, left) {
			t.Errorf("%s: the file was overwritten: %v", name, err)
		}
	}
}

func TestALostKeyIsAStateOfItsOwn(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	first, err := Load("", dir)
	if err != nil {
		t.Fatal(err)
	}
	sealed := first.Seal([]byte("x"), "p")
	if err := os.Remove(filepath.Join(dir, KeyFile)); err != nil {
		t.Fatal(err)
	}
	second, err := Load("", dir)
	if err != nil {
		t.Fatal(err)
	}
	var wrong *WrongKeyError
	if _, err := second.Open(sealed, "p"); !errors.As(err, &wrong) {
		t.Errorf("%v", err)
	}
}

func FuzzOpen(f *testing.F) {
	s := sealer(f, 1)
	f.Add(s.Seal([]byte("secret"), "p"))
	f.Add([]byte{format})
	f.Fuzz(func(t *testing.T, sealed []byte) {
		if plaintext, err := s.Open(sealed, "q"); err == nil {
			t.Errorf("opened to %q in a place it was not sealed for", plaintext)
		}
	})
}
