package main

import (
	"math"
	"os"
	"path/filepath"
	"runtime/debug"
	"testing"

	"ledge/cmd/ledgetest"
)

// TestMemorySoftLimit holds that the soft limit is 80 % of the lowest limit of the process's cgroups.
func TestMemorySoftLimit(t *testing.T) {
	const gib = 1 << 30
	for _, c := range []struct {
		name, own string
		limits    map[string]string // by cgroup
		want      int64
	}{
		{"no cgroups, as outside Linux", "", nil, 0},
		{"no limit", "0::/system.slice/ledge.service\n", map[string]string{"system.slice/ledge.service": "max\n", "system.slice": "max\n"}, 0},
		{"its own", "0::/system.slice/ledge.service\n", map[string]string{"system.slice/ledge.service": "1073741824\n", "system.slice": "max\n"}, gib / 5 * 4},
		{"a lower one above it", "0::/a/b\n", map[string]string{"a/b": "2147483648\n", "a": "1073741824\n"}, gib / 5 * 4},
		{"a container", "0::/\n", map[string]string{"": "1073741824\n"}, gib / 5 * 4},
		{"version 1", "4:memory:/a\n1:cpu:/\n", map[string]string{"a": "1073741824\n"}, 0},
		{"both versions", "4:memory:/x\n0::/a\n", map[string]string{"a": "1073741824\n"}, gib / 5 * 4},
	} {
		t.Run(c.name, func(t *testing.T) {
			root := t.TempDir()
			own := filepath.Join(root, "own")
			if c.own != "" {
				ledgetest.MustWrite(t, own, c.own)
			}
			for group, text := range c.limits {
				if err := os.MkdirAll(filepath.Join(root, group), 0o700); err != nil {
					t.Fatal(err)
				}
				ledgetest.MustWrite(t, filepath.Join(root, group, "memory.max"), text)
			}
			if got := softLimit(own, root); got != c.want {
				t.Errorf("got %d, want %d", got, c.want)
			}
		})
	}
}

// TestMemorySettings holds that limitMemory sets a limit and a share of garbage, and that the environment goes before.
func TestMemorySettings(t *testing.T) {
	debug.SetMemoryLimit(math.MaxInt64)
	share := debug.SetGCPercent(50)
	t.Cleanup(func() { debug.SetMemoryLimit(math.MaxInt64); debug.SetGCPercent(share) })
	t.Setenv("GOMEMLIMIT", "1GiB")
	t.Setenv("GOGC", "50")
	limitMemory()
	if got := debug.SetGCPercent(50); got != 50 {
		t.Errorf("the share of garbage is %d although the environment has one", got)
	}
	if got := debug.SetMemoryLimit(-1); got != math.MaxInt64 {
		t.Errorf("the limit is %d although the environment has one", got)
	}
	t.Setenv("GOMEMLIMIT", "")
	t.Setenv("GOGC", "")
	limitMemory()
	if got := debug.SetGCPercent(50); got != garbageShare {
		t.Errorf("the share of garbage is %d", got)
	}
	if got := debug.SetMemoryLimit(-1); got == math.MaxInt64 {
		t.Error("there is no limit")
	}
}
