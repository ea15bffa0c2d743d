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

// TestSystemdUnits holds that systemd takes the units, that they confine the program, and that it does not restart what a restart
// cannot mend.
func TestSystemdUnits(t *testing.T) {
	t.Parallel()
	units, err := filepath.Glob(ledgetest.Repo("deploy", "systemd", "*"))
	if err != nil || len(units) != 3 {
		t.Fatalf("units: %v, %v", units, err)
	}
	for _, line := range []string{"RestartPreventExitStatus=2 3 5 6", "Type=notify", `ExecReload=/bin/sh -c "kill -HUP $MAINPID"`} {
		if !strings.Contains(ledgetest.MustRead(t, ledgetest.Repo("deploy", "systemd", "ledge.service")), "\n"+line+"\n") {
			t.Errorf("the unit lacks %s", line)
		}
	}
	if _, err := exec.LookPath("systemd-analyze"); err != nil {
		t.Skip("systemd-analyze is not installed: Debian's package systemd")
	}
	binary, err := filepath.Abs(ledgetest.Binary)
	ledgetest.MustDo(t, err)
	verify := []string{"verify", "--man=no"} // the manual pages are in the package
	for dir, i := t.TempDir(), 0; i < len(units); i++ {
		name := filepath.Base(units[i])
		path := filepath.Join(dir, name)
		ledgetest.MustWrite(t, path, strings.ReplaceAll(ledgetest.MustRead(t, units[i]), "/usr/bin/ledge", binary))
		verify = append(verify, path)
		if filepath.Ext(name) != ".service" {
			continue
		}
		rate := []string{"security", "--offline=true", "--threshold=20", "--no-pager", path}
		out, err := exec.CommandContext(t.Context(), "systemd-analyze", rate...).CombinedOutput()
		if err != nil || !regexp.MustCompile(`exposure level for `+name+`: [01]\.\d`).Match(out) {
			t.Errorf("%v\n%s", err, out)
		}
	}
	if out, err := exec.CommandContext(t.Context(), "systemd-analyze", verify...).CombinedOutput(); err != nil || len(out) > 0 {
		t.Errorf("systemd-analyze verify: %v\n%s", err, out)
	}
}
