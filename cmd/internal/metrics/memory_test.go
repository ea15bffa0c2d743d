package metrics

import (
	"testing"
)

func TestMemoryIn(t *testing.T) {
	status := "Name:\tledge\nVmHWM:\t  900 kB\nVmRSS:\t  600 kB\nRssAnon:\t  400 kB\nRssFile:\t  150 kB\nRssShmem:\t   50 kB\n"
	if got, want := memoryIn(status), (memoryUse{400 << 10, 200 << 10}); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
}
