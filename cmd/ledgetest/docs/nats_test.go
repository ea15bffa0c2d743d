package docs

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"ledge/cmd/ledgetest"
)

// natsPath returns a PATH with the command.
func natsPath(t *testing.T) string {
	t.Helper()
	path := os.Getenv("PATH")
	if _, err := exec.LookPath(ledgetest.NATSCommand); err == nil {
		return path
	}
	t.Log("the nats command is not installed; what it prints is printed by this test")
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := os.Symlink(self, filepath.Join(dir, ledgetest.NATSCommand)); err != nil {
		t.Fatal(err)
	}
	return dir + string(filepath.ListSeparator) + path
}

// TestDocumentedNATSCommands types what docs/reference/nats.md shows for a picture, small and large.
func TestDocumentedNATSCommands(t *testing.T) {
	_, text, _ := strings.Cut(ledgetest.MustRead(t, "../../../docs/reference/nats.md"), "### Consumers")
	text, _, _ = strings.Cut(text, "\n## ")
	blocks := ledgetest.ShellBlocks(text)
	if len(blocks) != 3 {
		t.Fatalf("docs/reference/nats.md has %d blocks about consumers, want 3", len(blocks))
	}
	p := ledgetest.StartSeed(t)
	sh := ledgetest.NewShell(p, t)
	sh.Env = append(sh.Env, "NATS_URL="+p.NATS, "PATH="+natsPath(t))
	sh.Run(tour(t)[1])
	small := ledgetest.MustRead(t, "../../../docs/tour/photo.jpg")
	for i, picture := range []string{small, ledgetest.LargePicture(1)} {
		cmd := sh.Command(blocks[1+i])
		cmd.Dir = t.TempDir()
		out := &ledgetest.Output{More: make(chan struct{}, 1)}
		cmd.Stdout, cmd.Stderr = out, out
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		ended := make(chan error, 1)
		go func() { ended <- cmd.Wait() }()
		ledgetest.Until(t, "nats sub", func() bool { // it does not say when it has subscribed
			p.Call("POST", p.DeviceREST+"/api/v2/resource/cam-1/jpeg", "image/jpeg", picture)
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
		if got := ledgetest.MustRead(t, filepath.Join(cmd.Dir, "picture.jpg")); got != picture {
			t.Errorf("%s\ngot %d bytes, want %d", blocks[1+i], len(got), len(picture))
		}
	}
}
