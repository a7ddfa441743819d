package webhooks

import (
	"fmt"
	"strconv"
	"time"
)

// Status is how an endpoint is doing.
type Status string

// The statuses.
const (
	On      Status = "on"
	Failing Status = "failing" // on, and its last attempt failed
	Paused  Status = "paused"  // by the owner
	Off     Status = "off"     // switched off by what the receiver did
)

// Scheme is how an endpoint's requests are signed.
type Scheme string

// The schemes of Standard Webhooks.
const (
	HMAC    Scheme = "hmac"    // v1: a shared secret
	Ed25519 Scheme = "ed25519" // v1a: the receiver holds a public key only
)

// Words are the schemes, for the schema of what takes one.
func (Scheme) Words() []string { return []string{string(HMAC), string(Ed25519)} }

// Reasons for which an endpoint is disabled, as stored.
const (
	reasonPaused  = "paused"
	reasonGone    = "gone"
	reasonFailing = "failing"
)

// Count is a bounded count: with AtLeast set there are more than N.
type Count struct {
	N       int  `json:"n"`
	AtLeast bool `json:"at_least"`
}

// countLimit is where counting stops.
const countLimit = 10_000

func (c Count) String() string {
	if c.AtLeast {
		return fmt.Sprintf("over %d", c.N)
	}
	return strconv.Itoa(c.N)
}

func countOf(n int) Count { return Count{N: min(n, countLimit), AtLeast: n > countLimit} }

// Header is a header with its value.
type Header struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// Key is a signing key as it may be shown.
type Key struct {
	ID        string     `json:"id" jsonschema:"names the key in the log; the key cannot be had from it"`
	Scheme    Scheme     `json:"scheme"`
	Public    string     `json:"public,omitempty" jsonschema:"whpk_…, for ed25519"`
	CreatedAt time.Time  `json:"created_at"`
	Until     *time.Time `json:"until,omitempty" jsonschema:"set on an old key that still signs during the overlap of a rotation"`
}

// Endpoint is a receiver as it may be shown: without the parts of its address that may be secret, and without values of
// its headers.
type Endpoint struct {
	ID           string     `json:"id"`
	Description  string     `json:"description"`
	URL          string     `json:"url" jsonschema:"redacted: its query and the end of its path may hold tokens"`
	EventTypes   []string   `json:"event_types" jsonschema:"patterns of event types"`
	HeaderNames  []string   `json:"header_names"`
	Scheme       Scheme     `json:"scheme"`
	MaxPerSecond int        `json:"max_per_second" jsonschema:"0: no limit"`
	Status       Status     `json:"status"`
	Reason       string     `json:"reason" jsonschema:"why it is paused or off"`
	DisabledAt   *time.Time `json:"disabled_at,omitempty"`
	FailingSince *time.Time `json:"failing_since,omitempty"`
	DisablesAt   *time.Time `json:"disables_at,omitempty" jsonschema:"when it may be switched off if it goes on failing"`
	NotBefore    *time.Time `json:"not_before,omitempty" jsonschema:"the receiver asked for nothing before then"`
	Waiting      Count      `json:"waiting"`
	Parked       Count      `json:"parked"`
	Failed       Count      `json:"failed"`
	Keys         []Key      `json:"keys"`
	KeyLost      bool       `json:"key_lost" jsonschema:"its secrets are sealed under another key than this process has: its deliveries wait for one that has it"`
	Version      int64      `json:"version"`
	CreatedAt    time.Time  `json:"created_at"`
	UpdatedAt    time.Time  `json:"updated_at"`
	Deleted      bool       `json:"deleted"`
}

// An endpoint is switched off after this long without a success, with so many failed attempts, on so many days: two
// failures six days apart, or a laptop that slept for a week, switch nothing off (field case F19).
const (
	DisableAfter    = 5 * 24 * time.Hour
	DisableAttempts = 10
	DisableDays     = 3
)

// statusOf derives status and the sentence for it.
func statusOf(enabled bool, reason string, failingSince *time.Time) (Status, string) {
	switch {
	case enabled && failingSince != nil:
		return Failing, ""
	case enabled:
		return On, ""
	case reason == reasonPaused:
		return Paused, "You paused it."
	case reason == reasonGone:
		return Off, "The receiver answered 410 Gone: it wants no more deliveries."
	case reason == reasonFailing:
		return Off, "Every attempt failed for five days."
	}
	return Off, ""
}
