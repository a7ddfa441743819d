// Package seal keeps secrets at rest: what must be read again later, such as webhook secrets and credentials of connected
// services, is stored sealed under one key that is not in the database. What only has to be recognised is hashed instead.
package seal

import (
	"crypto/cipher"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"

	"golang.org/x/crypto/chacha20poly1305"
)

// KeyBytes is the length of a key.
const KeyBytes = chacha20poly1305.KeySize

// A sealed value is: format (1 byte), key id (4), nonce (24), ciphertext with its tag (16 more than the plaintext).
// XChaCha20's long nonce may be drawn at random for any number of values (draft-irtf-cfrg-xchacha §2.1).
const (
	format     = 1
	idBytes    = 4
	headBytes  = 1 + idBytes
	nonceBytes = chacha20poly1305.NonceSizeX
)

// ErrDamaged says that a sealed value was altered or cut, or was sealed for another place.
var ErrDamaged = errors.New("sealed value is damaged or belongs elsewhere")

// WrongKeyError says that a value was sealed under another key than the one in use: the key was changed or lost. The
// value is whole, and can be opened again once its key is back.
type WrongKeyError struct {
	Sealed string // id of the key it was sealed under
	Have   string // id of the key in use
}

func (e *WrongKeyError) Error() string {
	return fmt.Sprintf("sealed under key %s, but the key in use is %s", e.Sealed, e.Have)
}

// Sealer seals and opens under one key. It is safe for concurrent use.
type Sealer struct {
	aead cipher.AEAD
	id   [idBytes]byte
}

// New makes a sealer from a key of KeyBytes bytes.
func New(key []byte) (*Sealer, error) {
	aead, err := chacha20poly1305.NewX(key)
	if err != nil {
		return nil, fmt.Errorf("seal key of %d bytes instead of %d", len(key), KeyBytes)
	}
	s := &Sealer{aead: aead}
	sum := sha256.Sum256(append([]byte("gatehouse seal key id\x00"), key...))
	copy(s.id[:], sum[:])
	return s, nil
}

// KeyID names the key. The key cannot be had from it.
func (s *Sealer) KeyID() string { return hex.EncodeToString(s.id[:]) }

// Seal encrypts a value for one place. The place (such as "webhook_endpoints.secrets:" and the row's id) is needed to open
// it, so that a sealed value copied to another row stays shut. Sealing the same value twice gives different bytes.
func (s *Sealer) Seal(plaintext []byte, place string) []byte {
	sealed := make([]byte, headBytes+nonceBytes, headBytes+nonceBytes+len(plaintext)+chacha20poly1305.Overhead)
	sealed[0] = format
	copy(sealed[1:], s.id[:])
	nonce := sealed[headBytes:]
	_, _ = rand.Read(nonce) // never fails: crypto/rand ends the process instead
	return s.aead.Seal(sealed, nonce, plaintext, bind(sealed[:headBytes], place))
}

// Open decrypts a value that was sealed for that place. It fails with a *WrongKeyError or ErrDamaged.
func (s *Sealer) Open(sealed []byte, place string) ([]byte, error) {
	id, err := KeyIDOf(sealed)
	if err != nil {
		return nil, err
	}
	if id != s.KeyID() {
		return nil, &WrongKeyError{Sealed: id, Have: s.KeyID()}
	}
	nonce, ciphertext := sealed[headBytes:headBytes+nonceBytes], sealed[headBytes+nonceBytes:]
	plaintext, err := s.aead.Open(nil, nonce, ciphertext, bind(sealed[:headBytes], place))
	if err != nil {
		return nil, ErrDamaged
	}
	return plaintext, nil
}

// KeyIDOf names the key a value was sealed under, or fails with ErrDamaged if it is no sealed value.
func KeyIDOf(sealed []byte) (string, error) {
	if len(sealed) < headBytes+nonceBytes+chacha20poly1305.Overhead || sealed[0] != format {
		return "", ErrDamaged
	}
	return hex.EncodeToString(sealed[1:headBytes]), nil
}

// bind makes the head part of what the tag protects.
func bind(head []byte, place string) []byte {
	return append(append(make([]byte, 0, len(head)+len(place)), head...), place...)
}
