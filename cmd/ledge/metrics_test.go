package main

import (
	"log/slog"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"

	"ledge/cmd/internal/services"
	"ledge/handlers"
)

// TestScrapesAreBounded holds so many scrapes back, and finds one more refused.
func TestScrapesAreBounded(t *testing.T) {
	p := &Program{Config: &Config{}, Logger: slog.New(slog.DiscardHandler), meters: newMeters()}
	begun, end := make(chan bool, scrapes), make(chan bool)
	p.meters.registries[services.Data].MustRegister(metricsOf([]measure[int]{{"ledge_slow", "A metric that waits.", count}}, nil, func() []withLabels[int] {
		begun <- true
		<-end
		return nil
	}))
	h := p.withMetrics(handlers.Options{Service: services.Data}, http.NotFoundHandler())
	scrape := func() int {
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/metrics", nil))
		return w.Code
	}
	var all sync.WaitGroup
	for range scrapes {
		all.Go(func() {
			if code := scrape(); code != http.StatusOK {
				t.Errorf("one within the bound: %d", code)
			}
		})
	}
	for range scrapes {
		<-begun
	}
	if code := scrape(); code != http.StatusServiceUnavailable {
		t.Errorf("one beyond the bound: %d", code)
	}
	close(end)
	all.Wait()
}
