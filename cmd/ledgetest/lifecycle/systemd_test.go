package lifecycle

import (
	"net"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"ledge/cmd/internal/exit"
	"ledge/cmd/ledgetest"
)

// TestSystemd is the service manager: it hears that the program is ready, that it is alive, that it reloads, and that it stops.
func TestSystemd(t *testing.T) {
	path := filepath.Join(t.TempDir(), "notify")
	socket, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: path, Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	defer socket.Close()
	t.Setenv("NOTIFY_SOCKET", path)
	t.Setenv("WATCHDOG_USEC", strconv.Itoa(int(100*time.Millisecond/time.Microsecond)))
	p := ledgetest.Start(t, t.TempDir())
	hear := func(want string) {
		t.Helper()
		if err := socket.SetReadDeadline(time.Now().Add(ledgetest.Timeout)); err != nil {
			t.Fatal(err)
		}
		for message := make([]byte, 256); ; {
			n, err := socket.Read(message)
			if err != nil {
				t.Fatalf("%s: %v", want, err)
			}
			if strings.HasPrefix(string(message[:n]), want) {
				return
			}
		}
	}
	hear("READY=1")
	hear("WATCHDOG=1")
	hear("WATCHDOG=1")
	_ = p.Cmd.Process.Signal(syscall.SIGHUP)
	hear("RELOADING=1\nMONOTONIC_USEC=")
	hear("READY=1")
	if code := p.Stop(); code != exit.OK {
		t.Errorf("exit code %d", code)
	}
	hear("STOPPING=1")
}

const unit = "../../../deploy/systemd/ledge.service"

// TestSystemdUnit holds that systemd takes the unit, that the unit confines the program, and that it does not restart what a restart
// cannot mend.
func TestSystemdUnit(t *testing.T) {
	t.Parallel()
	for _, line := range []string{"RestartPreventExitStatus=2 3 5 6", "Type=notify", "ExecReload=/bin/kill -HUP $MAINPID"} {
		if !strings.Contains(ledgetest.MustRead(t, unit), "\n"+line+"\n") {
			t.Errorf("the unit lacks %s", line)
		}
	}
	if _, err := exec.LookPath("systemd-analyze"); err != nil {
		t.Skip("systemd-analyze is not installed: Debian's package systemd")
	}
	out, err := exec.CommandContext(t.Context(), "systemd-analyze", "security", "--offline=true", "--threshold=20", "--no-pager", unit).CombinedOutput()
	if err != nil || !regexp.MustCompile(`exposure level for ledge.service: [01]\.\d`).Match(out) {
		t.Errorf("%v\n%s", err, out)
	}
}
