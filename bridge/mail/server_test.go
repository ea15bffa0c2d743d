package mail

import (
	"bufio"
	"crypto/x509"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"ledge/bridge/tlstest"
)

// hangs is how long a test waits for what must happen before it gives up.
const hangs = time.Minute

const python = "/usr/bin/python3"

// server is a running SMTP server; testdata/server.py says what it does.
type server struct {
	t     *testing.T
	port  int
	cmd   *exec.Cmd
	roots *x509.CertPool // who signed its certificate
	lines chan string
	kill  func()
}

// taken is a message that the server has taken.
type taken struct {
	From, Data string
	To         []string
	TLS        bool
	User       string
	Stalled    bool
}

func mustServer(t *testing.T, mode string, account ...string) *server {
	t.Helper()
	if exec.Command(python, "-c", "import aiosmtpd").Run() != nil {
		t.Skip("the mail server is aiosmtpd: Debian's package python3-aiosmtpd is not installed")
	}
	s := &server{t: t, port: freePort(t), roots: x509.NewCertPool(), lines: make(chan string, 100)}
	ca := tlstest.NewAuthority(t, "authority")
	s.roots.AppendCertsFromPEM([]byte(ca.PEM))
	cert, key := ca.Sign(t, "server")
	dir := t.TempDir()
	for name, text := range map[string]string{"cert": cert, "key": key} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	args := append([]string{"testdata/server.py", fmt.Sprint(s.port), mode, filepath.Join(dir, "cert"), filepath.Join(dir, "key")}, account...)
	s.cmd = exec.Command(python, args...)
	s.run()
	if got := s.line(); got != "ready" {
		t.Fatalf("the server says %q", got)
	}
	return s
}

func (s *server) run() {
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
	s.kill = sync.OnceFunc(func() {
		in.Close()
		_ = s.cmd.Process.Kill()
		<-done
		_ = s.cmd.Wait()
	})
	s.t.Cleanup(s.kill)
}

func (s *server) line() string {
	s.t.Helper()
	select {
	case line := <-s.lines:
		return line
	case <-time.After(hangs):
		s.t.Fatal("the mail server says nothing")
		return ""
	}
}

// next returns the next message that was taken.
func (s *server) next() (m taken) {
	s.t.Helper()
	if err := json.Unmarshal([]byte(s.line()), &m); err != nil {
		s.t.Fatal(err)
	}
	return m
}

func freePort(t *testing.T) int {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port
}
