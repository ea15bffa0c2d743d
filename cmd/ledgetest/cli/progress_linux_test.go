package cli

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
	"ledge/cmd/internal/exit"
	"ledge/cmd/ledgetest"
)

// terminal is a pseudo-terminal: what is written to the one end is read from the other.
func terminal(t *testing.T) (shown, written *os.File) {
	t.Helper()
	shown, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
	if err != nil {
		t.Skipf("there are no pseudo-terminals: %v", err)
	}
	t.Cleanup(func() { shown.Close() })
	ledgetest.MustDo(t, unix.IoctlSetPointerInt(int(shown.Fd()), unix.TIOCSPTLCK, 0))
	n, err := unix.IoctlGetInt(int(shown.Fd()), unix.TIOCGPTN)
	ledgetest.MustDo(t, err)
	written, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|unix.O_NOCTTY, 0)
	ledgetest.MustDo(t, err)
	return shown, written
}

// onTerminal runs a command whose standard error is a terminal and returns what that shows.
func onTerminal(t *testing.T, args ...string) string {
	t.Helper()
	shown, written := terminal(t)
	ctx, cancel := context.WithTimeout(t.Context(), ledgetest.Timeout)
	defer cancel()
	cmd := exec.CommandContext(ctx, ledgetest.Binary, args...)
	cmd.Stderr = written
	ledgetest.MustDo(t, cmd.Start())
	ledgetest.MustDo(t, written.Close())
	var text bytes.Buffer
	_, _ = io.Copy(&text, shown) // ends with EIO when the command has ended
	if err := cmd.Wait(); err != nil {
		t.Errorf("ledge %v: %v\n%s", args, err, text.String())
	}
	return text.String()
}

// TestProgressOnATerminal holds that each command that may take long shows on a terminal how far it is, in one line that it takes away in
// the end, and elsewhere nothing.
func TestProgressOnATerminal(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	p := ledgetest.Start(t, dir)
	p.AddDevice("one")
	p.Call("POST", p.DeviceREST+"/api/v2/resource/one/jpeg", "image/jpeg", strings.Repeat("x", 1<<20))
	if code := p.Stop(); code != exit.OK {
		t.Fatalf("exit code %d", code)
	}
	into := t.TempDir()
	file := filepath.Join(into, "ledge.tar")
	if _, errs, code := ledgetest.Run(t, "backup", file, "--data-dir", dir); code != exit.OK {
		t.Fatalf("ledge backup: %d %s", code, errs)
	}
	for _, command := range []struct {
		args  []string
		shows bool
	}{
		{[]string{"backup", filepath.Join(into, "NEW.tar"), "--data-dir", dir}, true},
		{[]string{"verify", "--data-dir", dir}, true},
		{[]string{"salvage", filepath.Join(into, "NEW-salvaged"), "--data-dir", dir}, true},
		{[]string{"restore", file, filepath.Join(into, "NEW-restored")}, true},
		{[]string{"rebuild", "--data-dir", dir}, true},
		{[]string{"archive", "--data-dir", dir}, false}, // reads names and headers only
	} {
		name := command.args[0]
		t.Run(name, func(t *testing.T) {
			other := make([]string, len(command.args))
			for i, arg := range command.args {
				other[i] = strings.Replace(arg, "NEW", "OTHER", 1)
			}
			if _, errs, code := ledgetest.Run(t, other...); code != exit.OK || strings.ContainsAny(errs, "\r\x1b") {
				t.Errorf("without a terminal: %d %q", code, errs)
			}
			text := onTerminal(t, command.args...)
			if !command.shows {
				if text != "" {
					t.Errorf("shows %q", text)
				}
				return
			}
			if !strings.Contains(text, "\r\x1b[K"+name+": ") {
				t.Errorf("shows %q", text)
			}
			for _, line := range strings.Split(strings.TrimSuffix(text, "\r\n"), "\r\n") {
				if at := strings.LastIndex(line, "\r\x1b[K"); strings.Contains(line[at+1:], name+": ") {
					t.Errorf("%q is left on the terminal", line)
				}
			}
		})
	}
}
