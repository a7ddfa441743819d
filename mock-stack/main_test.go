package main

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestPrintsItsAddressesAndServesUntilItsInputCloses(t *testing.T) {
	t.Parallel()
	hold, release := io.Pipe()
	printed, print := io.Pipe()
	ended := make(chan error, 1)
	go func() {
		err := run([]string{"-until-eof", "-meili-key", "k"}, hold, print)
		_ = print.Close()
		ended <- err
	}()
	var at addresses
	if err := json.NewDecoder(printed).Decode(&at); err != nil {
		t.Fatal(err)
	}
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	for _, try := range []struct {
		method, url, body string
		want              int
	}{
		{"POST", at.Sink + "a", "{}", 200},
		{"POST", at.Lean + "a", "{}", 200},
		{"GET", at.Control + "/__mock/sink/a", "", 200},
		{"GET", at.Meili + "/health", "", 200},
		{"GET", at.Meili + "/indexes", "", 401},
		{"POST", at.Control + "/__mock/meili/outage", `{"mode":"503"}`, 204},
		{"GET", at.Meili + "/health", "", 503},
		{"POST", at.Control + "/__mock/meili/nonsense", "", 400},
	} {
		request, err := http.NewRequest(try.method, try.url, strings.NewReader(try.body))
		if err != nil {
			t.Fatal(err)
		}
		response, err := client.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		_ = response.Body.Close()
		if response.StatusCode != try.want {
			t.Errorf("%s %s: %d, want %d", try.method, try.url, response.StatusCode, try.want)
		}
	}
	if err := release.Close(); err != nil {
		t.Fatal(err)
	}
	if err := <-ended; err != nil {
		t.Fatal(err)
	}
}

func TestRefusesToListenBeyondLoopback(t *testing.T) {
	t.Parallel()
	for _, addr := range []string{"0.0.0.0:0", ":0", "example.org:80", "127.0.0.1"} {
		if err := run([]string{"-addr", addr}, strings.NewReader(""), &bytes.Buffer{}); err == nil {
			t.Errorf("%s was accepted", addr)
		}
	}
}
