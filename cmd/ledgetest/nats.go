package ledgetest

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"testing"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// NATSCommand is NATS' command line client. Where it is not installed, this test's program is linked under its name.
const NATSCommand = "nats"

// RunNATS is `nats sub` with the flags that docs/reference/nats.md shows, and prints as it does.
func RunNATS(args []string) int {
	flags := flag.NewFlagSet("nats sub", flag.ExitOnError)
	raw, headers, count := flags.Bool("raw", false, ""), flags.Bool("headers-only", false, ""), flags.Int("count", 1, "")
	_ = flags.Parse(args[1:])
	nc, err := nats.Connect(os.Getenv("NATS_URL"))
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	sub, err := nc.SubscribeSync(flags.Arg(0))
	for ; err == nil && *count > 0; *count-- {
		var m *nats.Msg
		if m, err = sub.NextMsg(Timeout); err == nil {
			show(m, *raw, *headers)
		}
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

func show(m *nats.Msg, raw, headersOnly bool) {
	if !raw {
		fmt.Printf("[#1] Received on %q\n", m.Subject)
		for name, values := range m.Header {
			fmt.Printf("%s: %s\n", name, values[0])
		}
		fmt.Println()
	}
	if !headersOnly {
		fmt.Println(string(m.Data))
	}
}

// NATSClient is a NATS client with a subscription to live messages.
type NATSClient struct{ sub *nats.Subscription }

// OpenJetStream connects to a NATS server. Requests of the JetStream client without a deadline have [Timeout].
func OpenJetStream(url string, o ...nats.Option) (*nats.Conn, jetstream.JetStream, error) {
	nc, err := nats.Connect(url, append(o, nats.Timeout(Timeout))...)
	if err != nil {
		return nil, nil, err
	}
	js, err := jetstream.New(nc, jetstream.WithDefaultTimeout(Timeout))
	return nc, js, err
}

// MustJetStream is [OpenJetStream] until the test ends.
func MustJetStream(tb testing.TB, url string, o ...nats.Option) (*nats.Conn, jetstream.JetStream) {
	tb.Helper()
	nc, js, err := OpenJetStream(url, o...)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(nc.Close)
	return nc, js
}

// SubscribeNATS connects to the bus and subscribes to a subject.
func (p *Node) SubscribeNATS(tb testing.TB, subject string) *NATSClient {
	tb.Helper()
	nc, err := nats.Connect(p.NATS)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(nc.Close)
	sub, err := nc.SubscribeSync(subject)
	if err != nil {
		tb.Fatal(err)
	}
	if err := nc.Flush(); err != nil {
		tb.Fatal(err)
	}
	return &NATSClient{sub}
}

// Next returns the next message.
func (s *NATSClient) Next(tb testing.TB) *nats.Msg {
	tb.Helper()
	m, err := s.sub.NextMsg(Timeout)
	if err != nil {
		tb.Fatal(err)
	}
	return m
}

// FindNATS returns the nats command, and skips the test if it is not installed. A test calls it before it starts anything.
func FindNATS(t *testing.T) string {
	t.Helper()
	own := Repo("bin", NATSCommand)
	if info, err := os.Stat(own); err == nil && info.Mode().IsRegular() {
		return own
	}
	path, err := exec.LookPath(NATSCommand)
	if err != nil {
		t.Skip("the nats command is not installed: make testtools installs it in bin")
	}
	return path
}

// NeedNATSPython skips the test if nats-py is not installed. A test calls it before it starts anything.
func NeedNATSPython(t *testing.T) {
	t.Helper()
	if exec.Command(Python, "-c", "import nats").Run() != nil {
		t.Skip("nats-py is not installed: make testtools installs it in bin, with Debian's packages python3 and python3-pip")
	}
}

// findPythonModules has Python find the modules that make testtools installs.
func findPythonModules() error {
	modules := Repo("bin", "python")
	if info, err := os.Stat(modules); err == nil && info.IsDir() {
		return os.Setenv("PYTHONPATH", modules)
	}
	return nil
}
