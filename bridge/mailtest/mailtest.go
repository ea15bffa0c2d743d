// Package mailtest runs a mail server for tests: aiosmtpd, which is real SMTP.
package mailtest

import (
	"bufio"
	"crypto/x509"
	_ "embed"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"ledge/bridge/porttest"
	"ledge/bridge/tlstest"
)

// hangs is how long a test waits for what must happen before it gives up.
const hangs = time.Minute

const python = "/usr/bin/python3"

//go:embed server.py
var program string

// Server is a running SMTP server; server.py says what it does.
type Server struct {
	Port  int
	Roots *x509.CertPool // who signed its certificate
	CA    string         // the same, in PEM
	Kill  func()

	t     testing.TB
	cmd   *exec.Cmd
	lines chan string
}

// Message is one that the server has taken.
type Message struct {
	From, Data string
	To         []string
	TLS        bool
	User       string
	Stalled    bool
}

// Start runs a server that encrypts as mode says, plain, starttls, starttls-only or implicit, and lets in who has the
// account, a name and a password, if one is given. The test is skipped where aiosmtpd is not installed.
func Start(t testing.TB, mode string, account ...string) *Server {
	t.Helper()
	if exec.CommandContext(t.Context(), python, "-c", "import aiosmtpd").Run() != nil {
		t.Skip("the mail server is aiosmtpd: Debian's package python3-aiosmtpd is not installed")
	}
	s := &Server{t: t, Port: porttest.Hold(t), Roots: x509.NewCertPool(), lines: make(chan string, 100)}
	ca := tlstest.NewAuthority(t, "authority")
	s.CA = ca.PEM
	s.Roots.AppendCertsFromPEM([]byte(s.CA))
	cert, key := ca.Sign(t, "server")
	dir := t.TempDir()
	for name, text := range map[string]string{"cert": cert, "key": key} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	args := append([]string{"-c", program, fmt.Sprint(s.Port), mode, filepath.Join(dir, "cert"), filepath.Join(dir, "key")}, account...)
	s.cmd = exec.CommandContext(s.t.Context(), python, args...)
	s.run()
	if got := s.line(); got != "ready" {
		t.Fatalf("the server says %q", got)
	}
	return s
}

func (s *Server) run() {
	s.t.Helper()
	out, err := s.cmd.StdoutPipe()
	if err != nil {
		s.t.Fatal(err)
	}
	in, err := s.cmd.StdinPipe()
	if err != nil {
		s.t.Fatal(err)
	}
	if err := s.cmd.Start(); err != nil {
		s.t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		scan := bufio.NewScanner(out)
		scan.Buffer(nil, 4<<20)
		for scan.Scan() {
			s.lines <- scan.Text()
		}
	}()
	s.Kill = sync.OnceFunc(func() {
		in.Close()
		_ = s.cmd.Process.Kill()
		<-done
		_ = s.cmd.Wait()
	})
	s.t.Cleanup(s.Kill)
}

func (s *Server) line() string {
	s.t.Helper()
	select {
	case line := <-s.lines:
		return line
	case <-time.After(hangs):
		s.t.Fatal("the mail server says nothing")
		return ""
	}
}

// Next waits for the next message that was taken.
func (s *Server) Next() (m Message) {
	s.t.Helper()
	if err := json.Unmarshal([]byte(s.line()), &m); err != nil {
		s.t.Fatal(err)
	}
	return m
}
