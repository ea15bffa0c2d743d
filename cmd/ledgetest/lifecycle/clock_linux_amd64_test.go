package lifecycle

import (
	"bytes"
	"debug/elf"
	byteorder "encoding/binary"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"ledge/cmd/ledgetest"
)

// wallClock is the clock of a process under test: that of the machine, and an offset that a test changes while the process runs. Timers and
// the monotonic clock of the process stay as they are, as with a machine whose clock is set.
//
// A Go program reads the time by a function that the kernel maps into each process, the vDSO. [wallClock.run] puts a function of its own in
// the place of clock_gettime(2) there, before the process has run its first instruction.
type wallClock struct {
	tb     testing.TB
	offset time.Duration // whole seconds
	pid    int
	at     int64 // the address of the offset in the process
}

// readClock is clock_gettime(2) by a system call. It adds the number of seconds that is behind it to CLOCK_REALTIME, which is clock 0.
var readClock = []byte{
	0xb8, 228, 0, 0, 0, // mov eax, SYS_clock_gettime
	0x0f, 0x05, // syscall
	0x85, 0xff, // test edi, edi
	0x75, 10, // jne to ret
	0x48, 0x8b, 0x15, 14, 0, 0, 0, // mov rdx, [rip+14]: the seconds
	0x48, 0x01, 0x16, // add [rsi], rdx
	0xc3,                         // ret
	0, 0, 0, 0, 0, 0, 0, 0, 0, 0, // the seconds are at a multiple of 8 bytes
}

// launchAt is launch of a process whose clock is off by an offset.
func launchAt(tb testing.TB, offset time.Duration, dir string, flags ...string) (*ledgetest.Node, *wallClock) {
	tb.Helper()
	c := &wallClock{tb: tb, offset: offset}
	return ledgetest.LaunchBy(tb, c.run, ledgetest.ServeCommand(nil, dir, flags...), dir), c
}

// startAt is launchAt that waits until the process is ready.
func startAt(tb testing.TB, offset time.Duration, dir string, flags ...string) (*ledgetest.Node, *wallClock) {
	tb.Helper()
	p, c := launchAt(tb, offset, dir, flags...)
	if err := p.WaitReady(); err != nil {
		tb.Fatalf("ledge serve: %v\n%s", err, p.Log)
	}
	return p, c
}

// run starts a command under the clock.
func (c *wallClock) run(cmd *exec.Cmd) error {
	runtime.LockOSThread() // the thread that starts a process is the one that may trace it
	defer runtime.UnlockOSThread()
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{}
	}
	cmd.SysProcAttr.Ptrace = true
	if err := cmd.Start(); err != nil {
		c.tb.Skipf("needs ptrace(2), to give a process a clock of its own: %v", err)
	}
	c.pid = cmd.Process.Pid
	var status syscall.WaitStatus
	if _, err := syscall.Wait4(c.pid, &status, syscall.WALL, nil); err != nil || !status.Stopped() {
		return fmt.Errorf("wait for the start of the process: %v, %v", status, err)
	}
	at, err := c.clockFunction()
	if err != nil {
		return err
	}
	c.at = at + int64(len(readClock))
	if _, err := syscall.PtracePokeText(c.pid, uintptr(at), append(slices.Clone(readClock), c.seconds()...)); err != nil {
		return fmt.Errorf("replace the clock: %w", err)
	}
	return syscall.PtraceDetach(c.pid)
}

func (c *wallClock) seconds() []byte {
	return byteorder.LittleEndian.AppendUint64(nil, uint64(int64(c.offset/time.Second)))
}

// clockFunction is the address of clock_gettime in the process.
func (c *wallClock) clockFunction() (int64, error) {
	maps, err := os.ReadFile(fmt.Sprintf("/proc/%d/maps", c.pid))
	if err != nil {
		return 0, err
	}
	var from, to int64
	for line := range strings.Lines(string(maps)) {
		if strings.HasSuffix(strings.TrimSpace(line), "[vdso]") {
			_, err = fmt.Sscanf(line, "%x-%x", &from, &to)
		}
	}
	if err != nil || from == 0 {
		return 0, fmt.Errorf("the process has no vDSO: %v\n%s", err, maps)
	}
	image := make([]byte, to-from)
	if _, err := syscall.PtracePeekText(c.pid, uintptr(from), image); err != nil {
		return 0, err
	}
	f, err := elf.NewFile(bytes.NewReader(image))
	if err != nil {
		return 0, err
	}
	symbols, err := f.DynamicSymbols()
	for _, s := range symbols {
		if s.Name == "__vdso_clock_gettime" {
			return from + int64(s.Value), nil
		}
	}
	return 0, fmt.Errorf("the vDSO has no clock: %v", err)
}

// step sets the clock forward, or back, while the process runs.
func (c *wallClock) step(by time.Duration) {
	c.tb.Helper()
	c.offset += by
	f, err := os.OpenFile(fmt.Sprintf("/proc/%d/mem", c.pid), os.O_WRONLY, 0)
	if err != nil {
		c.tb.Fatal(err)
	}
	defer f.Close()
	if _, err := f.WriteAt(c.seconds(), c.at); err != nil {
		c.tb.Fatalf("set the clock of the process: %v", err)
	}
}

// now is the time that the process reads.
func (c *wallClock) now() time.Time { return time.Now().Add(c.offset) }
