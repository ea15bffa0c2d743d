package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
)

// edgex is what was measured of EdgeX 2.3 on machines of this size.
const edgex = `
for comparison, EdgeX 2.3 with Redis, which answers before anything is on disk:
  530, 525, 488 adds a second with 1, 8, 32 clients (p99 7, 45, 158 ms); 660 devices a second in arrays
  3,000–5,000 GETs a second; 3.2 ms from a PATCH to a REST subscriber; 183 MB resident
  2.0 ms to post a Binary of 3 bytes, which is answered before it is kept; of larger ones that were taken there is no
  recording (10 KB were refused within 1.2 ms); more than 16 MiB it refuses
`

// machine is where the run took place.
type machine struct {
	System string `json:"system"`
	CPUs   int    `json:"cpus"`
	Go     string `json:"go"`
	Sync   figure `json:"sync"` // write and fsync of 4 KiB
}

// look measures the disk: without its figure those of the log mean little.
func look(ctx context.Context, b *bench) (machine, error) {
	m := machine{System: runtime.GOOS + "/" + runtime.GOARCH, CPUs: runtime.NumCPU(), Go: runtime.Version()}
	f, err := os.Create(filepath.Join(b.dir, "sync"))
	if err != nil {
		return m, err
	}
	defer os.Remove(f.Name())
	defer f.Close()
	found, err := writeSync(f, make([]byte, 4<<10), 1, b.counts.groups, b.counts).run(ctx)
	var r results
	r.add(found)
	m.Sync = r.figure()
	return m, err
}

func (m machine) print(w io.Writer) {
	fmt.Fprintf(w, "%s, %d CPUs, %s; write and fsync of 4 KiB: p50 %.2f ms, p99 %.2f ms\n", m.System, m.CPUs, m.Go, m.Sync.P50, m.Sync.P99)
	fmt.Fprintln(w, "each figure is a median; ratios are of pairs measured in turns, with their spread")
	if m.Sync.P50 < 0.01 {
		fmt.Fprintln(w, "the temporary folder is not on a disk that syncs: choose another with -dir")
	}
}
