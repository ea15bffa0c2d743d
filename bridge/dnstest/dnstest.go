// Package dnstest runs a name server for tests, over UDP.
package dnstest

import (
	"bytes"
	"net"
	"net/netip"
	"strings"
	"sync"
	"testing"

	"golang.org/x/net/dns/dnsmessage"
)

// Server answers every name with 127.0.0.1, but for those that it is told to leave without an answer, or that are not there.
type Server struct {
	// Address is host:port.
	Address string

	conn *net.UDPConn

	mu     sync.Mutex
	silent bool
	late   []query // that came while it was silent
	asked  map[string]int
}

type query struct {
	text []byte
	from *net.UDPAddr
}

// Start runs a server until the test ends.
func Start(t testing.TB) *Server {
	t.Helper()
	return StartAt(t, "127.0.0.1:0")
}

// StartAt is Start at an address and port.
func StartAt(t testing.TB, address string) *Server {
	t.Helper()
	at, err := netip.ParseAddrPort(address)
	if err != nil {
		t.Fatal(err)
	}
	conn, err := net.ListenUDP("udp", net.UDPAddrFromAddrPort(at))
	if err != nil {
		t.Fatal(err)
	}
	s := &Server{Address: conn.LocalAddr().String(), conn: conn, asked: map[string]int{}}
	done := make(chan struct{})
	go func() { defer close(done); s.serve() }()
	t.Cleanup(func() { conn.Close(); <-done })
	return s
}

// Silence has the server answer nothing, or answer again, also what it was asked meanwhile.
func (s *Server) Silence(silent bool) {
	s.mu.Lock()
	s.silent = silent
	late := s.late
	s.late = nil
	s.mu.Unlock()
	for _, q := range late {
		s.respond(q)
	}
}

// Asked returns how often a name was asked for, over all types of records.
func (s *Server) Asked(name string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.asked[name]
}

// Names returns how many names were asked for.
func (s *Server) Names() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.asked)
}

// Forget begins to count anew.
func (s *Server) Forget() {
	s.mu.Lock()
	defer s.mu.Unlock()
	clear(s.asked)
}

func (s *Server) serve() {
	b := make([]byte, 4<<10)
	for {
		n, from, err := s.conn.ReadFromUDP(b)
		if err != nil {
			return
		}
		q := query{bytes.Clone(b[:n]), from}
		var m dnsmessage.Message
		if m.Unpack(q.text) != nil || len(m.Questions) != 1 {
			continue
		}
		s.mu.Lock()
		s.asked[nameOf(m)]++
		silent := s.silent
		if silent {
			s.late = append(s.late, q)
		}
		s.mu.Unlock()
		if !silent {
			s.respond(q)
		}
	}
}

func nameOf(m dnsmessage.Message) string {
	return strings.TrimSuffix(m.Questions[0].Name.String(), ".")
}

func (s *Server) respond(to query) {
	var m dnsmessage.Message
	if m.Unpack(to.text) != nil {
		return
	}
	q := m.Questions[0]
	m.Response, m.RecursionAvailable, m.Additionals = true, true, nil
	header := dnsmessage.ResourceHeader{Name: q.Name, Class: q.Class}
	switch {
	case strings.HasPrefix(nameOf(m), "missing"):
		m.RCode = dnsmessage.RCodeNameError
	case q.Type == dnsmessage.TypeA:
		m.Answers = []dnsmessage.Resource{{Header: header, Body: &dnsmessage.AResource{A: [4]byte{127, 0, 0, 1}}}}
	}
	if packed, err := m.Pack(); err == nil {
		_, _ = s.conn.WriteToUDP(packed, to.from)
	}
}
