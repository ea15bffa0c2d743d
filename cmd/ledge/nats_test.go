package main

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/nats-io/nats.go"
)

// natsCommand is NATS' command line client. Where it is not installed, this test's program is linked under its name.
const natsCommand = "nats"

// natsPath returns a PATH with the command.
func natsPath(t *testing.T) string {
	t.Helper()
	path := os.Getenv("PATH")
	if _, err := exec.LookPath(natsCommand); err == nil {
		return path
	}
	t.Log("the nats command is not installed; what it prints is printed by this test")
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := os.Symlink(self, filepath.Join(dir, natsCommand)); err != nil {
		t.Fatal(err)
	}
	return dir + string(filepath.ListSeparator) + path
}

// runNATS is `nats sub` with the flags that docs/reference/taps.md shows, and prints as it does.
func runNATS(args []string) int {
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
		if m, err = sub.NextMsg(hangs); err == nil {
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

// TestDocumentedNATSCommands types what docs/reference/taps.md shows for a picture, small and large.
func TestDocumentedNATSCommands(t *testing.T) {
	_, text, _ := strings.Cut(mustRead(t, "../../docs/reference/taps.md"), "### Consumers")
	text, _, _ = strings.Cut(text, "\n## ")
	blocks := shellBlocks(text)
	if len(blocks) != 3 {
		t.Fatalf("docs/reference/taps.md has %d blocks about consumers, want 3", len(blocks))
	}
	p := startSeed(t)
	sh := p.shell(t)
	sh.env = append(sh.env, "NATS_URL="+p.tap, "PATH="+natsPath(t))
	sh.run(tour(t)[1])
	small := mustRead(t, "../../docs/tour/photo.jpg")
	for i, picture := range []string{small, largePicture(1)} {
		cmd := sh.command(blocks[1+i])
		cmd.Dir = t.TempDir()
		out := &syncBuffer{more: make(chan struct{}, 1)}
		cmd.Stdout, cmd.Stderr = out, out
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		ended := make(chan error, 1)
		go func() { ended <- cmd.Wait() }()
		until(t, "nats sub", func() bool { // it does not say when it has subscribed
			p.call("POST", p.deviceREST+"/api/v2/resource/cam-1/jpeg", "image/jpeg", picture)
			select {
			case err := <-ended:
				if err != nil {
					t.Fatalf("%s\n%v\n%s", blocks[1+i], err, out)
				}
				return true
			default:
				return false
			}
		})
		if got := mustRead(t, filepath.Join(cmd.Dir, "picture.jpg")); got != picture {
			t.Errorf("%s\ngot %d bytes, want %d", blocks[1+i], len(got), len(picture))
		}
	}
}
