package attack

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"testing"
	"text/tabwriter"
	"time"

	"ledge/cmd/ledgetest"
)

// What a node under attack may take. The kernel enforces the descriptors. Pages of mapped files are not counted: under a limit of memory the
// kernel takes them back.
const (
	attackDescriptors = 1024
	attackMemory      = 300 << 20 // bytes of anonymous memory
)

// attack is a node under attack by one client while a bystander, who behaves well, goes on using it.
type attack struct {
	*ledgetest.Node
	name string

	cancel    context.CancelFunc
	bystander sync.WaitGroup
	mu        sync.Mutex
	times     []time.Duration // of the bystander's requests
	failures  []string        // what the bystander was refused
	fds       int             // the most descriptors that were seen open
	memory    int64           // the most anonymous memory that was seen, in bytes
}

// startAttack runs a node within [attackDescriptors] and begins the bystander's requests. What the bystander needs is there before the attack.
func startAttack(t *testing.T, flags ...string) *attack {
	t.Helper()
	return startAttackUnder(t, nil, flags...)
}

// startAttackUnder is startAttack with another program that runs the server.
func startAttackUnder(t *testing.T, runner []string, flags ...string) *attack {
	t.Helper()
	prlimit, err := exec.LookPath("prlimit")
	if err != nil {
		t.Skip("the test limits descriptors with prlimit: install Debian's package util-linux:", err)
	}
	a := &attack{name: strings.TrimPrefix(t.Name(), "Test")}
	a.Node = ledgetest.LaunchUnder(t, append(runner, prlimit, fmt.Sprintf("--nofile=%d:%[1]d", attackDescriptors)), t.TempDir(), flags...)
	if err := a.WaitReady(); err != nil {
		t.Fatal(err, a.Log)
	}
	a.AddDevice("bystander")
	ctx, cancel := context.WithCancel(context.Background())
	a.cancel = cancel
	t.Cleanup(cancel)
	a.bystander.Go(func() { a.behave(ctx) })
	a.bystander.Go(func() { a.watch(ctx) })
	return a
}

// The bystander's address is not that of the attacker, so that the two have shares of their own.
const (
	attackerAddress  = "127.0.0.2"
	bystanderAddress = "127.0.0.3"
)

// dialerAt connects from an address of this machine.
func dialerAt(address string) *net.Dialer {
	return &net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(address)}, Timeout: ledgetest.Timeout}
}

// clientAt sends requests from an address of this machine, over one connection for each host.
func clientAt(address string) *http.Client {
	return &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 1, DialContext: dialerAt(address).DialContext}, Timeout: ledgetest.Timeout}
}

// behave changes a device, reads it and posts a value, again and again, over one connection of its own.
func (a *attack) behave(ctx context.Context) {
	client := clientAt(bystanderAddress)
	defer client.CloseIdleConnections()
	for n := 0; ctx.Err() == nil; n++ {
		for _, one := range []struct {
			method, url, contentType, body string
			want                           int
		}{
			{http.MethodPatch, a.Metadata + "/api/v2/device", "application/json", fmt.Sprintf(`[{"apiVersion":"v2","device":{"name":"bystander","description":"%d"}}]`, n), http.StatusMultiStatus},
			{http.MethodGet, a.Metadata + "/api/v2/device/name/bystander", "", "", http.StatusOK},
			{http.MethodPost, a.DeviceREST + "/api/v2/resource/bystander/jpeg", "image/jpeg", "picture", http.StatusOK},
		} {
			began := time.Now()
			status, body, err := send(ctx, client, one.method, one.url, one.contentType, one.body)
			if ctx.Err() != nil {
				return
			}
			a.mu.Lock()
			a.times = append(a.times, time.Since(began))
			if (err != nil || status != one.want || strings.Contains(body, `"statusCode":5`)) && len(a.failures) < 10 {
				a.failures = append(a.failures, fmt.Sprintf("%s %s: %d %.300s %v", one.method, one.url, status, body, err))
			}
			a.mu.Unlock()
		}
	}
}

// watch looks again and again at what the node takes.
func (a *attack) watch(ctx context.Context) {
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		files, _ := os.ReadDir(fmt.Sprintf("/proc/%d/fd", a.Cmd.Process.Pid)) // none after the node has ended, which other tests notice
		status, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", a.Cmd.Process.Pid))
		a.mu.Lock()
		a.fds, a.memory = max(a.fds, len(files)), max(a.memory, anonymousMemory(string(status)))
		a.mu.Unlock()
	}
}

func send(ctx context.Context, client *http.Client, method, url, contentType, body string) (status int, text string, err error) {
	req, err := http.NewRequestWithContext(ctx, method, url, strings.NewReader(body))
	if err != nil {
		return 0, "", err
	}
	if contentType != "" {
		req.Header.Set("Content-Type", contentType)
	}
	resp, err := client.Do(req)
	if err != nil {
		return 0, "", err
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	return resp.StatusCode, string(b), err
}

// held ends the bystander and holds that the attack has cost nobody anything: the node runs, the bystander was refused nothing, and memory
// stayed below its bound. Times go into the table that TEST_LEDGE_ATTACKS_TABLE names; no test depends on them.
func (a *attack) held(t *testing.T) {
	t.Helper()
	for served := a.served(); a.served() < served+6; { // also after the attack
		select {
		case <-a.Exited:
			t.Fatalf("ledge ended: %v\n%s", a.Err, a.Log)
		case <-time.After(10 * time.Millisecond):
		}
	}
	peak := a.peak()
	a.cancel()
	a.bystander.Wait()
	for _, failure := range a.failures {
		t.Errorf("the bystander was refused: %s", failure)
	}
	if peak > attackMemory {
		t.Errorf("%d MiB of anonymous memory at the peak, want %d at most", peak>>20, attackMemory>>20)
	}
	slices.Sort(a.times)
	attackTable.Lock()
	defer attackTable.Unlock()
	attackTable.rows = append(attackTable.rows, fmt.Sprintf("%s\t%d\t%d\t%d\t%v\t%v\t", a.name, peak>>20, a.fds, len(a.times),
		a.times[len(a.times)/2].Round(100*time.Microsecond), a.times[len(a.times)*99/100].Round(100*time.Microsecond)))
}

// descriptors is the most that were seen open.
func (a *attack) descriptors() int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.fds
}

func (a *attack) served() int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return len(a.times)
}

// peak is the most anonymous memory that was seen since the start or since [attack.forgetPeak], in bytes.
func (a *attack) peak() int64 {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.memory
}

// attackTable has a row for each attack that ran.
var attackTable struct {
	sync.Mutex
	rows []string
}

func init() {
	ledgetest.AtEnd = append(ledgetest.AtEnd, func() {
		path := os.Getenv("TEST_LEDGE_ATTACKS_TABLE")
		if path == "" || len(attackTable.rows) == 0 {
			return
		}
		file, err := os.Create(path)
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			return
		}
		defer file.Close()
		w := tabwriter.NewWriter(file, 0, 0, 2, ' ', tabwriter.AlignRight)
		fmt.Fprintln(w, "attack\tpeak MiB\tdescriptors\tbystander's requests\tp50\tp99\t")
		for _, row := range attackTable.rows {
			fmt.Fprintln(w, row)
		}
		w.Flush()
	})
}

// TestNoAttack is the row to compare the others with.
func TestNoAttack(t *testing.T) {
	a := startAttack(t)
	for a.served() < 300 {
		time.Sleep(time.Millisecond)
	}
	a.held(t)
}

// anonymousMemory reads, from the status of a process, its resident memory without pages of files, in bytes.
func anonymousMemory(status string) (bytes int64) {
	_, after, _ := strings.Cut(status, "\nRssAnon:")
	_, _ = fmt.Sscanf(after, "%d kB", &bytes)
	return bytes << 10
}
