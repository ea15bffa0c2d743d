package api

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	"ledge/cmd/ledgetest"
)

// mostResident is what Ledge may take while it receives bodies, however large and however many, in bytes.
const mostResident = 190_000_000

// checkPeak holds the process to mostResident.
func checkPeak(p *ledgetest.Node) {
	p.TB.Helper()
	kib := mostTaken(p)
	p.TB.Logf("at most %d MB resident", kib*1024/1_000_000)
	if kib*1024 > mostResident {
		p.TB.Errorf("at most %d MB resident, want %d or less", kib*1024/1_000_000, mostResident/1_000_000)
	}
}

// TestSlowClients has a thousand clients begin bodies and stop in the middle: others are served meanwhile. Then half of the
// slow ones go on to the end, and the others die.
func TestSlowClients(t *testing.T) {
	const clients, length, first, others = 1000, 300_000, 20_000, 50
	p := ledgetest.Start(t, t.TempDir())
	all := make([]*caller, clients)
	for i := range all {
		all[i] = dial(p)
		all[i].send(strings.Repeat("x", first), fmt.Sprint("Content-Length: ", length))
	}
	ledgetest.Until(t, "all bodies to have begun", func() bool { return len(ledgetest.Payloads(p)) == clients })
	for range others / 2 {
		for _, body := range []string{"short", ledgetest.LargeBody} {
			if a := p.PostImage(body); a.Status != 200 {
				t.Errorf("beside slow clients: %d %s", a.Status, a.Body)
			}
		}
	}
	var ends sync.WaitGroup
	for i, c := range all {
		ends.Go(func() {
			if i%2 == 0 {
				c.write(strings.Repeat("x", length-first))
				c.want("to the end", 200)
			}
			c.Close()
		})
	}
	ends.Wait()
	holdsReadings(p, clients/2+others, 2)
	checkPeak(p)
}

// TestMemoryOfLargeBodies has many clients post large bodies at once.
func TestMemoryOfLargeBodies(t *testing.T) {
	p := ledgetest.Start(t, t.TempDir())
	const clients, parts = 64, 64
	part := strings.Repeat("x", 128<<10)
	var all sync.WaitGroup
	for i := range clients {
		c := dial(p)
		all.Go(func() {
			c.send(fmt.Sprintf("%0*d", len(part), i), fmt.Sprint("Content-Length: ", (parts+1)*len(part)))
			for range parts {
				c.write(part)
			}
			c.want("a large body", 200)
		})
	}
	all.Wait()
	checkPeak(p)
	for range 4 { // and some that are on the log itself
		for i := range clients {
			c := dial(p)
			all.Go(func() {
				c.send(fmt.Sprintf("%0*d", 100_000, i), "Content-Length: 100000")
				c.want("a body on the log", 200)
			})
		}
		all.Wait()
	}
	checkPeak(p)
}
