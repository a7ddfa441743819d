package egress

import (
	"context"
	"encoding/binary"
	"io"
	"net"
	"net/netip"
	"sync"
	"testing"

	"golang.org/x/net/dns/dnsmessage"
)

// names answers a resolver's questions from memory, without a packet: each lookup of a name takes the next of its answer
// sets, the last one for ever.
type names struct {
	mu      sync.Mutex
	answers map[string][][]string
	asked   map[string]int
}

func (n *names) take(name string) []netip.Addr {
	n.mu.Lock()
	defer n.mu.Unlock()
	sets := n.answers[name]
	if len(sets) == 0 {
		return nil
	}
	set := sets[min(n.asked[name], len(sets)-1)]
	n.asked[name]++
	var ips []netip.Addr
	for _, text := range set {
		ips = append(ips, netip.MustParseAddr(text))
	}
	return ips
}

// resolver is a real net.Resolver whose name server is in memory. One lookup asks for A and AAAA: the A question counts.
func resolver(t *testing.T, answers map[string][][]string) *net.Resolver {
	t.Helper()
	n := &names{answers: answers, asked: map[string]int{}}
	var serving sync.WaitGroup
	t.Cleanup(serving.Wait)
	return &net.Resolver{PreferGo: true, Dial: func(context.Context, string, string) (net.Conn, error) {
		here, there := net.Pipe()
		serving.Go(func() {
			defer func() { _ = there.Close() }()
			n.serve(there)
		})
		return here, nil
	}}
}

func (n *names) serve(conn net.Conn) {
	for {
		var size [2]byte
		if _, err := io.ReadFull(conn, size[:]); err != nil {
			return
		}
		raw := make([]byte, binary.BigEndian.Uint16(size[:]))
		if _, err := io.ReadFull(conn, raw); err != nil {
			return
		}
		reply, err := n.reply(raw)
		if err != nil {
			return
		}
		if _, err := conn.Write(append(binary.BigEndian.AppendUint16(nil, uint16(len(reply))), reply...)); err != nil {
			return
		}
	}
}

func (n *names) reply(raw []byte) ([]byte, error) {
	var message dnsmessage.Message
	if err := message.Unpack(raw); err != nil {
		return nil, err
	}
	question := message.Questions[0]
	name := question.Name.String()
	name = name[:len(name)-1]
	message.Response, message.RecursionAvailable, message.Additionals = true, true, nil
	header := dnsmessage.ResourceHeader{Name: question.Name, Class: question.Class, Type: question.Type, TTL: 1}
	switch question.Type {
	case dnsmessage.TypeA:
		ips := n.take(name)
		if ips == nil {
			message.RCode = dnsmessage.RCodeNameError
		}
		for _, ip := range ips {
			if ip.Is4() {
				message.Answers = append(message.Answers, dnsmessage.Resource{Header: header, Body: &dnsmessage.AResource{A: ip.As4()}})
			}
		}
	case dnsmessage.TypeAAAA:
		n.mu.Lock()
		defer n.mu.Unlock()
		sets := n.answers[name]
		if len(sets) == 0 {
			message.RCode = dnsmessage.RCodeNameError
			break
		}
		for _, text := range sets[min(n.asked[name], len(sets)-1)] {
			if ip := netip.MustParseAddr(text); ip.Is6() {
				message.Answers = append(message.Answers, dnsmessage.Resource{Header: header, Body: &dnsmessage.AAAAResource{AAAA: ip.As16()}})
			}
		}
	}
	if name == "flaky.test" { // its servers are there, but do not answer
		message.RCode = dnsmessage.RCodeServerFailure
	}
	return message.Pack()
}
