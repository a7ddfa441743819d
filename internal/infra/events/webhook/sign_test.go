package webhook

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"
)

func secret(t testing.TB, text string) *Secret {
	t.Helper()
	s, err := ParseSecret(text)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestKnownVectorsOfStandardWebhooks(t *testing.T) {
	t.Parallel()
	tests := []struct {
		secret, id string
		at         int64
		body, want string
	}{
		{"whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", "msg_p5jXN8AQM9LWM0D4loKWxJek", 1614265330, `{"test": 2432232314}`,
			"v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="},
		{"whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD", "msg_27UH4WbU6Z5A5EzD8u03UvzRbpk", 1649367553, `{"email":"test@example.com","username":"test_user"}`,
			"v1,tZ1I4/hDygAJgO5TYxiSd6Sd0kDW6hPenDe+bTa3Kkw="},
	}
	for _, test := range tests {
		got, err := secret(t, test.secret).Signature(test.id, time.Unix(test.at, 0), []byte(test.body))
		if err != nil || got != test.want {
			t.Errorf("%s: %s, %v", test.id, got, err)
		}
	}
}

// The key is RFC 8032 §7.1 test 1; the signature was made with Node's crypto over "id.timestamp.body".
func TestKnownVectorOfTheSecondScheme(t *testing.T) {
	t.Parallel()
	const id, body = "msg_p5jXN8AQM9LWM0D4loKWxJek", `{"test": 2432232314}`
	const want = "v1a,fldxM4gAKugP6nnt1hdz3sgGfZ6d99nzrMFnZOELIxbzEHoVmAb2ADpkJK7zgPePmPsle0zV9jSeGlHFG2NVAw=="
	at := time.Unix(1614265330, 0)
	for _, text := range []string{
		"whsk_nWGxne/9WmC6hEr0kuwsxERJxWl7MmkZcDusAxyuf2DXWpgBgrEKt9VL/tPJZAc6DuFy89qmIyWvAhpo9wdRGg==",
		"whsk_nWGxne/9WmC6hEr0kuwsxERJxWl7MmkZcDusAxyuf2A=",
	} {
		key, err := ParseKey(text)
		if err != nil {
			t.Fatal(err)
		}
		if got := key.Public().Text(); got != "whpk_11qYAYKxCrfVS/7TyWQHOg7hcvPapiMlrwIaaPcHURo=" {
			t.Errorf("public key %s", got)
		}
		if got, err := key.Signature(id, at, []byte(body)); err != nil || got != want {
			t.Errorf("%s, %v", got, err)
		}
		public, err := ParsePublicKey(key.Public().Text())
		if err != nil {
			t.Fatal(err)
		}
		if !public.Verify("v1,x v1a,nonsense "+want, id, at, []byte(body)) {
			t.Error("the right signature was not found")
		}
		if public.Verify(want, id, at.Add(time.Second), []byte(body)) || public.Verify(want, id, at, []byte(body+" ")) || (PublicKey{}).Verify(want, id, at, []byte(body)) {
			t.Error("verified what was not signed")
		}
	}
}

func TestKeysThatCannotBeReadSayWhyWithoutTheKey(t *testing.T) {
	t.Parallel()
	parse := func(text string) error {
		_, err := ParseSecret(text)
		if strings.HasPrefix(text, privatePrefix) {
			_, err = ParseKey(text)
		}
		if strings.HasPrefix(text, publicPrefix) {
			_, err = ParsePublicKey(text)
		}
		return err
	}
	for _, text := range []string{"", "SECRETSECRET", "whsec_SECRET!", "whsec_U0VDUkVU", "whsec_" + strings.Repeat("QUJD", 30), "whsk_U0VDUkVU", "whsk_%SECRET", "whpk_U0VDUkVU",
		"whsk_nWGxne/9WmC6hEr0kuwsxERJxWl7MmkZcDusAxyuf2DXWpgBgrEKt9VL/tPJZAc6DuFy89qmIyWvAhpo9wdRGw=="} {
		err := parse(text)
		if !errors.Is(err, ErrKey) {
			t.Errorf("%q: %v", text, err)
		} else if strings.Contains(err.Error(), "SECRET") {
			t.Errorf("%q is in its error: %v", text, err)
		}
	}
}

func TestGeneratedKeysAreNewAndStayOutOfLogs(t *testing.T) {
	t.Parallel()
	a, b := GenerateSecret(), GenerateSecret()
	if a.Text() == b.Text() || a.KeyID() == b.KeyID() {
		t.Error("the same secret twice")
	}
	if again := secret(t, a.Text()); again.KeyID() != a.KeyID() || len(again.key) != 32 {
		t.Error("a secret does not survive its text")
	}
	key := GenerateKey()
	if again, err := ParseKey(key.Text()); err != nil || again.KeyID() != key.KeyID() {
		t.Errorf("a key does not survive its text: %v", err)
	}
	for _, shown := range []string{fmt.Sprint(a), fmt.Sprintf("%#v", a), fmt.Sprintf("%+v", key), fmt.Sprintf("%#v", key), a.KeyID(), key.KeyID()} {
		if strings.Contains(shown, strings.TrimPrefix(a.Text(), secretPrefix)) || strings.Contains(shown, strings.TrimPrefix(key.Text(), privatePrefix)) {
			t.Errorf("secret shown: %s", shown)
		}
	}
}

func TestBodyIsStableAndBounded(t *testing.T) {
	t.Parallel()
	body := Body{
		Type: "corpus.note.changed", ID: "0199-1", Seq: 7, Subject: "wiki://straße/<b>",
		Timestamp: time.Date(2026, 3, 1, 12, 0, 0, 250_000_000, time.FixedZone("", 3600)),
		Data:      json.RawMessage("{\n \"z\": \"\\u2028 ü <\", \"a\": 1.50}"),
	}
	const want = `{"type":"corpus.note.changed","timestamp":"2026-03-01T11:00:00.25Z","id":"0199-1","seq":7,"subject":"wiki://straße/<b>","data":{"z":"\u2028 ü <","a":1.50}}`
	for range 2 {
		got, err := body.Encode()
		if err != nil || string(got) != want {
			t.Fatalf("%s, %v", got, err)
		}
	}
	if got, err := (Body{}).Encode(); err != nil || !strings.HasSuffix(string(got), `"data":{}}`) {
		t.Errorf("%s, %v", got, err)
	}
	body.Data = json.RawMessage(`"` + strings.Repeat("x", MaxBodyBytes) + `"`)
	if _, err := body.Encode(); !errors.Is(err, ErrBodyTooLarge) {
		t.Errorf("too large: %v", err)
	}
	body.Data = json.RawMessage(`{`)
	if _, err := body.Encode(); err == nil {
		t.Error("broken data was encoded")
	}
}

// FuzzSignedBytesVerify holds what we send against the official verifier, for any text a note can have.
func FuzzSignedBytesVerify(f *testing.F) {
	for _, seed := range []string{"ü", "<script>", "\u2028", "\x00\xff", `"\`, "图书馆"} {
		f.Add(seed, seed)
	}
	key := GenerateSecret()
	verifier, err := standardwebhooks.NewWebhook(key.Text())
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, subject, text string) {
		data, err := json.Marshal(map[string]string{"title": text})
		if err != nil {
			t.Skip()
		}
		at := time.Now()
		body, err := Body{Type: "t", ID: "evt_1", Timestamp: at, Subject: subject, Data: data}.Encode()
		if errors.Is(err, ErrBodyTooLarge) {
			return
		}
		if err != nil || !json.Valid(body) {
			t.Fatalf("%s: %v", body, err)
		}
		signature, err := key.Signature("evt_1", at, body)
		if err != nil {
			t.Fatal(err)
		}
		head := http.Header{}
		head.Set("webhook-id", "evt_1")
		head.Set("webhook-timestamp", fmt.Sprint(at.Unix()))
		head.Set("webhook-signature", "v1a,x "+signature)
		if err := verifier.Verify(body, head); err != nil {
			t.Errorf("%s: %v", body, err)
		}
	})
}
