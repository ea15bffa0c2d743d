package delivery

import (
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"ledge/cmd/internal/config"
	"ledge/cmd/internal/server"
	"ledge/cmd/internal/services"
	"ledge/cmd/ledgetest"
)

// mustProgram runs the program in this process, for profiles.
func mustProgram(tb testing.TB) *server.Server {
	tb.Helper()
	return mustProgramAt(tb, nil)
}

// mustProgramAt runs the program in this process with a clock, and flags.
func mustProgramAt(tb testing.TB, now func() time.Time, flags ...string) *server.Server {
	tb.Helper()
	c := config.Default()
	if err := c.Settings().Parse(append([]string{
		"--data-dir", tb.TempDir(), "--metadata-port", "0", "--data-port", "0", "--device-rest-port", "0", "--notifications-port", "0", "--console-port", "0", "--nats-port", "-1",
	}, flags...)); err != nil {
		tb.Fatal(err)
	}
	p := &server.Server{Config: c, Logger: slog.New(slog.DiscardHandler), Now: now}
	if err := p.Run(tb.Context()); err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(p.Close)
	return p
}

func BenchmarkAddDevices(b *testing.B) {
	for _, size := range []int{1, 100} {
		for _, clients := range []int{1, 32} {
			b.Run(fmt.Sprintf("arrays=%d/clients=%d", size, clients), func(b *testing.B) { addDevices(b, size, clients) })
		}
	}
}

func addDevices(b *testing.B, size, clients int) {
	p := mustProgram(b)
	url := p.URL(services.Metadata) + "/api/v2/device"
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: clients}}
	var next atomic.Int64
	b.SetParallelism((clients + 1) / 2)
	if clients == 1 {
		b.SetParallelism(1)
	}
	b.ResetTimer()
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			var list []string
			for range size {
				list = append(list, ledgetest.DeviceJSON(fmt.Sprintf("d-%d", next.Add(1))))
			}
			resp, err := client.Post(url, "application/json", strings.NewReader("["+strings.Join(list, ",")+"]"))
			if err != nil {
				b.Error(err)
				return
			}
			_, _ = io.Copy(io.Discard, resp.Body)
			resp.Body.Close()
		}
	})
	b.ReportMetric(float64(next.Load())/b.Elapsed().Seconds(), "devices/s")
}
