package webhook

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
	"time"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"
)

// Prefixes of keys as they are written (Standard Webhooks 1.0, "Signature scheme").
const (
	secretPrefix  = "whsec_"
	privatePrefix = "whsk_"
	publicPrefix  = "whpk_"
)

// Secrets shorter or longer than this are against the standard ("between 24 bytes and 64 bytes").
const (
	minSecretBytes = 24
	maxSecretBytes = 64
)

// ErrKey is the cause of every failure to read a key. Its messages hold nothing of the key.
var ErrKey = errors.New("webhook key")

// Signer makes one signature of the webhook-signature header.
type Signer interface {
	// Signature signs the exact bytes of a body, as "v1,…" or "v1a,…".
	Signature(id string, at time.Time, body []byte) (string, error)
	// KeyID names the key in logs. The key cannot be had from it.
	KeyID() string
}

// Secret is a shared secret, the usual scheme (v1, HMAC-SHA256).
type Secret struct {
	key  []byte
	hook *standardwebhooks.Webhook
}

// GenerateSecret makes a secret of 32 random bytes.
func GenerateSecret() *Secret {
	key := make([]byte, 32)
	_, _ = rand.Read(key) // never fails: crypto/rand ends the process instead
	secret, err := newSecret(key)
	if err != nil {
		panic(err) // 32 bytes are a valid secret
	}
	return secret
}

// ParseSecret reads "whsec_…", as Text writes it.
func ParseSecret(text string) (*Secret, error) {
	encoded, ok := strings.CutPrefix(text, secretPrefix)
	if !ok {
		return nil, fmt.Errorf("%w: a secret begins with %s", ErrKey, secretPrefix)
	}
	key, err := base64.StdEncoding.DecodeString(encoded)
	if err != nil {
		return nil, fmt.Errorf("%w: the secret is not base64", ErrKey)
	}
	return newSecret(key)
}

func newSecret(key []byte) (*Secret, error) {
	if len(key) < minSecretBytes || len(key) > maxSecretBytes {
		return nil, fmt.Errorf("%w: a secret has %d to %d bytes", ErrKey, minSecretBytes, maxSecretBytes)
	}
	hook, err := standardwebhooks.NewWebhookRaw(key)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrKey, err)
	}
	return &Secret{key: key, hook: hook}, nil
}

// Text is the secret as a receiver's library takes it. Show it once.
func (s *Secret) Text() string { return secretPrefix + base64.StdEncoding.EncodeToString(s.key) }

// String keeps the secret out of logs.
func (s *Secret) String() string { return secretPrefix + "(hidden)" }

// GoString keeps the secret out of %#v.
func (s *Secret) GoString() string { return s.String() }

// KeyID is the start of the secret's hash.
func (s *Secret) KeyID() string { return keyID(s.key) }

// Signature signs with the official library.
func (s *Secret) Signature(id string, at time.Time, body []byte) (string, error) {
	return s.hook.Sign(id, at, body)
}

func keyID(key []byte) string {
	sum := sha256.Sum256(key)
	return hex.EncodeToString(sum[:4])
}
