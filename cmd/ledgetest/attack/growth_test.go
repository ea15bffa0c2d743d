package attack

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"ledge/cmd/ledgetest"
	"ledge/domain"
)

// growthPackages are the packages whose steps are counted.
const growthPackages = "./domain/...,./handlers/...,./projections/...,./bridge/...,./cmd/...,./store/...,gopkg.in/yaml.v3,github.com/BurntSushi/toml"

// A block of statements grows too fast if its count grows by more than growthFactor when the growth of the input doubles. Work that grows with
// the input has 2, work that grows with the square has 4, and sorting in parts of another size may have 3. growthLeast is a difference that is not looked at.
const (
	growthFactor = 3.4
	growthLeast  = 100_000
)

// growthBounded are places whose work has a bound, although it may grow faster than the input here.
var growthBounded = []string{
	"ledge/projections/fold/writer.go", // it sorts the changes of one flush: the clock decides their number, a memtable bounds it
	"gopkg.in/yaml.v3/decode.go",       // it compares each key of a mapping with each, and a mapping may have 1,000
}

// growthInput is a request whose size grows with n.
type growthInput struct {
	name, port, method, path string
	contentType              string
	body                     string
	header                   [2]string
}

// TestWorkGrowsWithTheInput sends requests that have n, 2n and 4n parts to three nodes, which count how often each block of statements runs. No
// block runs more often than in proportion; one that did is counted again. Before, 19,000 unknown keys of an object (278 KiB) took 15 to 46 seconds.
func TestWorkGrowsWithTheInput(t *testing.T) {
	if os.Getenv("TEST_LEDGE_GROWTH") == "" {
		t.Skip("this test builds a program that counts its steps, which takes a minute; run make growth")
	}
	t.Parallel()
	counting := filepath.Join(t.TempDir(), "ledge")
	build := exec.Command("go", "build", "-pgo=off", "-tags", "nomsgpack", "-cover", "-covermode=atomic", "-coverpkg="+growthPackages, "-o", counting, "./cmd/ledge")
	build.Dir, build.Env = filepath.Join("..", "..", ".."), append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build: %v\n%s", err, out)
	}
	const n = 200
	least, found := [3]map[string]int64{}, []string{"not measured"}
	for range 3 {
		for i, size := range []int{n, 2 * n, 4 * n} {
			least[i] = keepFewer(least[i], stepsOf(t, counting, size))
		}
		if found = growingBlocks(least); len(found) == 0 {
			return
		}
	}
	t.Errorf("for inputs of %d, %d and %d parts:\n%s", n, 2*n, 4*n, strings.Join(found, "\n"))
}

// keepFewer returns the smaller count of each block. Work that the clock begins adds to a count, and never takes away.
func keepFewer(least, steps map[string]int64) map[string]int64 {
	for block, count := range least {
		if count < steps[block] {
			steps[block] = count
		}
	}
	return steps
}

// growingBlocks says which blocks of statements grow too fast with the input.
func growingBlocks(of [3]map[string]int64) (found []string) {
	for block, most := range of[2] {
		more, less := most-of[1][block], of[1][block]-of[0][block]
		isBounded := slices.ContainsFunc(growthBounded, func(name string) bool { return strings.HasPrefix(block, name) })
		if !isBounded && more > growthLeast && float64(more) > growthFactor*float64(less) {
			found = append(found, fmt.Sprintf("%s runs %d, %d, %d times", block, of[0][block], of[1][block], most))
		}
	}
	return found
}

// stepsOf sends all inputs of a size to a node, and returns how often each block of statements ran.
func stepsOf(t *testing.T, program string, n int) map[string]int64 {
	t.Helper()
	counts, dir := t.TempDir(), t.TempDir()
	cmd := ledgetest.ServeCommand(nil, dir, "--bus-max-bytes", "0") // the copies read the log when the load leaves them time
	cmd.Path, cmd.Args[0] = program, program
	cmd.Env = append(os.Environ(), "GOCOVERDIR="+counts)
	p := ledgetest.LaunchCommand(t, cmd, dir)
	if err := p.WaitReady(); err != nil {
		t.Fatal(err, p.Log)
	}
	p.AddConsoleUser(t, domain.Admin)
	c := ledgetest.NewConsoleClient(p)
	c.Login(t, "test-admin", ledgetest.ConsolePassword)
	ledgetest.AddSensorProfile(p)
	ledgetest.AddSensor(p, "camera", "")
	ledgetest.AddSensor(p, "plain", "")
	for _, in := range growthInputs(n) {
		sendGrowth(p, t, c, in)
	}
	if code := p.Stop(); code != 0 {
		t.Fatalf("exit code %d\n%s", code, p.Log)
	}
	text := filepath.Join(counts, "text")
	if out, err := exec.Command("go", "tool", "covdata", "textfmt", "-i", counts, "-o", text).CombinedOutput(); err != nil {
		t.Fatalf("covdata: %v\n%s", err, out)
	}
	b, err := os.ReadFile(text)
	if err != nil {
		t.Fatal(err)
	}
	steps := map[string]int64{}
	for line := range strings.Lines(string(b)) {
		fields := strings.Fields(line)
		if len(fields) != 3 {
			continue
		}
		count, _ := strconv.ParseInt(fields[2], 10, 64)
		steps[fields[0]] += count
	}
	return steps
}

// growthClient does not compare with the OpenAPI documents, which takes far longer than the requests.
var growthClient = &http.Transport{DisableCompression: true}

func sendGrowth(p *ledgetest.Node, t *testing.T, c *ledgetest.ConsoleClient, in growthInput) {
	t.Helper()
	base := map[string]string{"metadata": p.Metadata, "data": p.CoreData, "device-rest": p.DeviceREST, "notifications": p.Notifications, "console": p.Console}[in.port]
	r, err := http.NewRequest(cmp.Or(in.method, http.MethodGet), base+in.path, strings.NewReader(in.body))
	if err != nil {
		t.Fatal(in.name, err)
	}
	if in.contentType != "" {
		r.Header.Set("Content-Type", in.contentType)
	}
	if in.header[0] != "" {
		r.Header.Set(in.header[0], in.header[1])
	}
	if in.port == "console" {
		r.AddCookie(c.Cookie)
	}
	resp, err := growthClient.RoundTrip(r)
	if err != nil {
		t.Errorf("%s: %v", in.name, err)
		return
	}
	defer resp.Body.Close()
	text, _ := io.ReadAll(resp.Body)
	if testing.Verbose() {
		t.Logf("%-40s %d %.160s", in.name, resp.StatusCode, bytes.ReplaceAll(text, []byte("\n"), nil))
	}
}
