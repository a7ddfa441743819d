// Command mock-stack runs controllable fakes of the services Gatehouse talks to: a webhook receiver and a Meilisearch.
// It listens on loopback only, prints its addresses as one line of JSON, and runs until it is interrupted or its
// standard input closes (with -until-eof), so that a crashed test run leaves nothing behind.
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"

	"github.com/gatehouse-hq/gatehouse/mock-stack/meili"
	"github.com/gatehouse-hq/gatehouse/mock-stack/sink"
)

func main() {
	if err := run(os.Args[1:], os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "mock-stack:", err)
		os.Exit(1)
	}
}

// addresses is what is printed at the start. Control routes are below Control; Meili goes away in an outage.
type addresses struct {
	Control string `json:"control"`
	Sink    string `json:"sink"`      // append a hook's name
	Lean    string `json:"sink_lean"` // the same hooks for benchmarks: see sink.Lean
	Meili   string `json:"meili"`
}

func run(args []string, in io.Reader, out io.Writer) error {
	flags := flag.NewFlagSet("mock-stack", flag.ContinueOnError)
	addr := flags.String("addr", "127.0.0.1:0", "loopback `address` of the webhook sink and the control routes")
	meiliAddr := flags.String("meili-addr", "127.0.0.1:0", "loopback `address` of the fake Meilisearch")
	meiliKey := flags.String("meili-key", "", "bearer `key` the fake Meilisearch demands")
	untilEOF := flags.Bool("until-eof", false, "end when standard input closes")
	if err := flags.Parse(args); err != nil {
		return err
	}
	for _, a := range []string{*addr, *meiliAddr} {
		if err := checkLoopback(a); err != nil {
			return err
		}
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()

	engine, err := meili.Start(*meiliAddr, *meiliKey)
	if err != nil {
		return err
	}
	defer engine.Close()
	hooks := sink.New()
	lean, err := hooks.ListenLean("127.0.0.1:0")
	if err != nil {
		return err
	}
	defer lean.Close()
	listener, err := net.Listen("tcp", *addr)
	if err != nil {
		return fmt.Errorf("webhook sink: %w", err)
	}
	mux := http.NewServeMux()
	mux.Handle("/hook/", hooks)
	mux.Handle("/__mock/sink", hooks)
	mux.Handle("/__mock/sink/", hooks)
	mux.HandleFunc("/__mock/meili/", engine.Control)
	server := &http.Server{Handler: mux, ReadHeaderTimeout: 10 * time.Second}
	var serving sync.WaitGroup
	serving.Go(func() { _ = server.Serve(listener) }) // always ErrServerClosed
	defer serving.Wait()
	defer func() { _ = server.Close() }()

	base := "http://" + listener.Addr().String()
	if err := json.NewEncoder(out).Encode(addresses{Control: base, Sink: base + "/hook/", Lean: lean.URL(), Meili: engine.URL()}); err != nil {
		return fmt.Errorf("printing addresses: %w", err)
	}
	if *untilEOF {
		_, err := io.Copy(io.Discard, in)
		return err
	}
	<-ctx.Done()
	return nil
}

func checkLoopback(addr string) error {
	host, _, err := net.SplitHostPort(addr)
	if err != nil {
		return fmt.Errorf("address %q: %w", addr, err)
	}
	if ip := net.ParseIP(host); ip == nil || !ip.IsLoopback() {
		return fmt.Errorf("address %q is not loopback", addr)
	}
	return nil
}
