package sink

import (
	"bytes"
	"compress/gzip"
	"io"
	"net/http"
	"strconv"
	"time"
)

// headerFiller is the length of one filler header; servers and clients dislike single lines far beyond it.
const headerFiller = 4 << 10

func (s Step) status() int {
	switch {
	case s.Drop:
		return 0
	case s.Status == 0:
		return http.StatusOK
	}
	return s.Status
}

// answer plays the step. A caller that hangs up ends it at once.
func (s Step) answer(w http.ResponseWriter, r *http.Request, now func() time.Time) {
	if s.Delay > 0 && !pause(r, time.Duration(s.Delay)) {
		return
	}
	if s.Drop {
		// net/http closes the connection without a byte, and without a stack trace in the log.
		panic(http.ErrAbortHandler)
	}
	s.writeHead(w, now)
	switch {
	case s.Drip > 0:
		drip(w, r, s.plainBody(), time.Duration(s.Drip))
	case s.Endless:
		_, _ = io.Copy(w, filler{}) // ends when the caller leaves: the error is how we learn it
	case s.GzipSize > 0:
		_ = writeBomb(w, s.GzipSize)
	case s.BodySize > 0:
		_, _ = io.CopyN(w, filler{}, s.BodySize)
	default:
		_, _ = w.Write(s.plainBody())
	}
}

func (s Step) writeHead(w http.ResponseWriter, now func() time.Time) {
	head := w.Header()
	for name, value := range s.Headers {
		head.Set(name, value)
	}
	for n := 0; n < s.HeaderBytes; n += headerFiller {
		head.Set("X-Filler-"+strconv.Itoa(n/headerFiller), string(bytes.Repeat([]byte("f"), headerFiller)))
	}
	if s.RetryAfter != "" {
		head.Set("Retry-After", s.RetryAfter)
	}
	if s.RetryAfterIn != 0 {
		head.Set("Retry-After", now().Add(time.Duration(s.RetryAfterIn)).UTC().Format(http.TimeFormat))
	}
	if s.Location != "" {
		head.Set("Location", s.Location)
	}
	if s.GzipSize > 0 {
		head.Set("Content-Encoding", "gzip")
	}
	w.WriteHeader(s.status())
}

func (s Step) plainBody() []byte {
	if len(s.BodyBase64) > 0 {
		return s.BodyBase64
	}
	return []byte(s.Body)
}

// drip sends one byte at each interval until the caller leaves, first the body, then dots.
func drip(w http.ResponseWriter, r *http.Request, body []byte, interval time.Duration) {
	control := http.NewResponseController(w)
	for i := 0; ; i++ {
		next := byte('.')
		if i < len(body) {
			next = body[i]
		}
		if _, err := w.Write([]byte{next}); err != nil {
			return
		}
		if err := control.Flush(); err != nil {
			return
		}
		if !pause(r, interval) {
			return
		}
	}
}

func pause(r *http.Request, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-r.Context().Done():
		return false
	}
}

// writeBomb sends gzip that opens to that many zero bytes. Like a real one it is made beforehand: one member, sent over and
// over (RFC 1952 lets members follow each other). Packing a gigabyte while answering would starve whoever shares the machine.
func writeBomb(w io.Writer, opened int64) error {
	const block = 1 << 20
	whole, err := packed(min(opened, block))
	if err != nil {
		return err
	}
	for ; opened >= block; opened -= block {
		if _, err := w.Write(whole); err != nil {
			return err
		}
	}
	if opened == 0 {
		return nil
	}
	rest, err := packed(opened)
	if err != nil {
		return err
	}
	_, err = w.Write(rest)
	return err
}

func packed(zeros int64) ([]byte, error) {
	var out bytes.Buffer
	packer := gzip.NewWriter(&out)
	if _, err := io.CopyN(packer, filler{}, zeros); err != nil {
		return nil, err
	}
	if err := packer.Close(); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}

// filler is an endless reader of zero bytes.
type filler struct{}

func (filler) Read(p []byte) (int, error) {
	clear(p)
	return len(p), nil
}
