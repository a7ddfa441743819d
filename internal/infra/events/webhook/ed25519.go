package webhook

import (
	"crypto/ed25519"
	"crypto/rand"
	"encoding/base64"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// PrivateKey signs by the second scheme (v1a, ed25519), for receivers that should not hold a secret. The official Go
// library has no v1a, so this is ours, held to a vector in the tests.
type PrivateKey struct {
	key ed25519.PrivateKey
}

// PublicKey checks what a PrivateKey signed. It is no secret.
type PublicKey struct {
	key ed25519.PublicKey
}

// GenerateKey makes a random key.
func GenerateKey() *PrivateKey {
	seed := make([]byte, ed25519.SeedSize)
	_, _ = rand.Read(seed) // never fails: crypto/rand ends the process instead
	return &PrivateKey{ed25519.NewKeyFromSeed(seed)}
}

// ParseKey reads "whsk_…": base64 of a key (seed and public half, 64 bytes) or of a seed alone (32 bytes).
func ParseKey(text string) (*PrivateKey, error) {
	raw, err := decodeKey(text, privatePrefix)
	if err != nil {
		return nil, err
	}
	switch len(raw) {
	case ed25519.SeedSize:
		return &PrivateKey{ed25519.NewKeyFromSeed(raw)}, nil
	case ed25519.PrivateKeySize:
		key := ed25519.NewKeyFromSeed(raw[:ed25519.SeedSize])
		if !key.Equal(ed25519.PrivateKey(raw)) {
			return nil, fmt.Errorf("%w: the two halves do not belong together", ErrKey)
		}
		return &PrivateKey{key}, nil
	}
	return nil, fmt.Errorf("%w: a private key has 32 or 64 bytes", ErrKey)
}

// ParsePublicKey reads "whpk_…".
func ParsePublicKey(text string) (PublicKey, error) {
	raw, err := decodeKey(text, publicPrefix)
	if err != nil {
		return PublicKey{}, err
	}
	if len(raw) != ed25519.PublicKeySize {
		return PublicKey{}, fmt.Errorf("%w: a public key has 32 bytes", ErrKey)
	}
	return PublicKey{raw}, nil
}

func decodeKey(text, prefix string) ([]byte, error) {
	encoded, ok := strings.CutPrefix(text, prefix)
	if !ok {
		return nil, fmt.Errorf("%w: it begins with %s", ErrKey, prefix)
	}
	raw, err := base64.StdEncoding.DecodeString(encoded)
	if err != nil {
		return nil, fmt.Errorf("%w: it is not base64", ErrKey)
	}
	return raw, nil
}

// Text is the key as ParseKey reads it: a secret.
func (k *PrivateKey) Text() string { return privatePrefix + base64.StdEncoding.EncodeToString(k.key) }

// String keeps the key out of logs.
func (k *PrivateKey) String() string { return privatePrefix + "(hidden)" }

// GoString keeps the key out of %#v.
func (k *PrivateKey) GoString() string { return k.String() }

// KeyID is the start of the public key's hash.
func (k *PrivateKey) KeyID() string { return keyID(k.Public().key) }

// Public is the half to show.
func (k *PrivateKey) Public() PublicKey {
	return PublicKey{ed25519.PublicKey(k.key[ed25519.SeedSize:])}
}

// Signature signs "id.timestamp.body".
func (k *PrivateKey) Signature(id string, at time.Time, body []byte) (string, error) {
	return "v1a," + base64.StdEncoding.EncodeToString(ed25519.Sign(k.key, signedContent(id, at, body))), nil
}

// Text is the key as receivers take it.
func (k PublicKey) Text() string { return publicPrefix + base64.StdEncoding.EncodeToString(k.key) }

// Verify reports whether a signature header holds a v1a signature of this key.
func (k PublicKey) Verify(header, id string, at time.Time, body []byte) bool {
	for _, part := range strings.Split(header, " ") {
		encoded, ok := strings.CutPrefix(part, "v1a,")
		if !ok {
			continue
		}
		signature, err := base64.StdEncoding.DecodeString(encoded)
		if err == nil && len(k.key) == ed25519.PublicKeySize && ed25519.Verify(k.key, signedContent(id, at, body), signature) {
			return true
		}
	}
	return false
}

func signedContent(id string, at time.Time, body []byte) []byte {
	content := make([]byte, 0, len(id)+len(body)+22)
	content = append(content, id...)
	content = append(content, '.')
	content = strconv.AppendInt(content, at.Unix(), 10)
	content = append(content, '.')
	return append(content, body...)
}
