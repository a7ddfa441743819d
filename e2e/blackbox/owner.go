package blackbox

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"strings"
	"time"
)

// Owner is a signed-in script. Sessions are rows, and cookies do not know
// ports: it may call any process on the same database.
type Owner struct{ http *http.Client }

// SetUp follows the one-time link of a fresh installation.
func SetUp(ctx context.Context, s *Server) (*Owner, error) {
	jar, err := cookiejar.New(nil)
	if err != nil {
		return nil, err
	}
	o := &Owner{http: &http.Client{Jar: jar, Timeout: 30 * time.Second,
		Transport: &http.Transport{MaxIdleConnsPerHost: 100}}}
	const password = "correct horse battery"
	form := url.Values{"token": {SetupToken}, "email": {"owner@example.com"}, "password": {password}, "again": {password}}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, s.URL+"/setup", strings.NewReader(form.Encode()))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	res, err := o.http.Do(req)
	if err != nil {
		return nil, fmt.Errorf("set up: %w", err)
	}
	defer func() { _ = res.Body.Close() }()
	if _, err := io.Copy(io.Discard, res.Body); err != nil {
		return nil, err
	}
	if !strings.HasPrefix(res.Request.URL.Path, "/admin") {
		return nil, fmt.Errorf("set-up ended at %s with %s", res.Request.URL.Path, res.Status)
	}
	return o, nil
}

// Do sends a request with the owner's session.
func (o *Owner) Do(req *http.Request) (*http.Response, error) { return o.http.Do(req) }

// Refused is an answer other than 200.
type Refused struct {
	Operation string
	Status    int
	Answer    string
}

func (e *Refused) Error() string { return fmt.Sprintf("%s: %d: %s", e.Operation, e.Status, e.Answer) }

// Post sends a form as a browser does and answers with status and page; a
// redirection is not followed.
func (o *Owner) Post(ctx context.Context, s *Server, path string, form url.Values) (status int, page string, err error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, s.URL+path, strings.NewReader(form.Encode()))
	if err != nil {
		return 0, "", err
	}
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	once := *o.http
	once.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	res, err := once.Do(req)
	if err != nil {
		return 0, "", err
	}
	defer func() { _ = res.Body.Close() }()
	text, err := io.ReadAll(res.Body)
	return res.StatusCode, string(text), err
}

// Call runs an operation. An error of the network leaves open whether it happened.
func (o *Owner) Call(ctx context.Context, s *Server, operation string, in, out any) error {
	body, err := json.Marshal(in)
	if err != nil {
		return err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, s.URL+"/api/admin/"+operation, bytes.NewReader(body))
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/json")
	res, err := o.http.Do(req)
	if err != nil {
		return err
	}
	defer func() { _ = res.Body.Close() }()
	answer, err := io.ReadAll(res.Body)
	if err != nil {
		return err
	}
	if res.StatusCode != http.StatusOK {
		return &Refused{Operation: operation, Status: res.StatusCode, Answer: string(answer)}
	}
	if out == nil {
		return nil
	}
	return json.Unmarshal(answer, out)
}
