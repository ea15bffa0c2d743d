package handlers

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"runtime"
	"runtime/metrics"

	"github.com/gin-gonic/gin"

	"ledge/domain"
)

// EdgeXVersion is the release of EdgeX whose API the services have. EdgeX's application services end at their start if core-metadata answers
// another major version than the one of their SDK, or fewer than three numbers.
const EdgeXVersion = "2.3.0"

// showVersion answers as EdgeX does, with the version of Ledge in a member of its own: EdgeX's clients ignore it.
func (a *API) showVersion(c *gin.Context) {
	sdk := ""
	if a.DeviceService {
		sdk = fmt.Sprintf(`"sdk_version":%q,`, EdgeXVersion)
	}
	const form = `{"apiVersion":%q,"version":%q,"serviceName":%q,%s"ledgeVersion":%q}`
	writeJSON(c, http.StatusOK, fmt.Appendf(nil, form, a.APIVersion, EdgeXVersion, a.Service, sdk, a.Version))
}

// health answers 503 with the reason while the service refuses what is sent to it. EdgeX has no such path, and ping
// answers whatever happens. A service that works may have warnings for its operator. In secure mode reasons and warnings are for those who may
// read.
func (a *API) health(c *gin.Context) {
	details := a.May(c.Request, domain.MayRead)
	if err := a.Ready(); err != nil {
		if !details {
			err = errors.New("log in with a role that reads to see why")
		}
		a.Fail(c, domain.Errorf(domain.Unavailable, "not ready: %v", err))
		return
	}
	warnings := a.Warnings()
	if len(warnings) == 0 || !details {
		a.about("health", func() any { return "ready" })(c)
		return
	}
	text, err := json.Marshal(warnings)
	if err != nil {
		a.Fail(c, fmt.Errorf("encode health: %w", err))
		return
	}
	writeJSON(c, http.StatusOK, fmt.Appendf(nil, `{"apiVersion":%q,"health":"ready","warnings":%s,"serviceName":%q}`, a.APIVersion, text, a.Service))
}

// about answers {"apiVersion":…,"<key>":…,"serviceName":…}, in this order and, unlike all other answers, without a
// newline, as EdgeX does.
func (a *API) about(key string, value func() any) Handler {
	return func(c *gin.Context) {
		v, err := json.Marshal(value())
		if err != nil {
			a.Fail(c, fmt.Errorf("encode %s: %w", key, err))
			return
		}
		writeJSON(c, http.StatusOK, fmt.Appendf(nil, `{"apiVersion":%q,%q:%s,"serviceName":%q}`, a.APIVersion, key, v, a.Service))
	}
}

// processMetrics counts bytes and objects since the start; CPUBusyAvg is a percentage since the start.
type processMetrics struct {
	MemAlloc       uint64 `json:"memAlloc"`
	MemFrees       uint64 `json:"memFrees"`
	MemLiveObjects uint64 `json:"memLiveObjects"`
	MemMallocs     uint64 `json:"memMallocs"`
	MemSys         uint64 `json:"memSys"`
	MemTotalAlloc  uint64 `json:"memTotalAlloc"`
	CPUBusyAvg     int    `json:"cpuBusyAvg"`

	Storage any `json:"storage,omitempty"`
}

func metricsOf(storage func() any) processMetrics {
	m := readMetrics()
	m.Storage = storage()
	return m
}

func readMetrics() processMetrics {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return processMetrics{
		MemAlloc: m.Alloc, MemFrees: m.Frees, MemLiveObjects: m.Mallocs - m.Frees, MemMallocs: m.Mallocs,
		MemSys: m.Sys, MemTotalAlloc: m.TotalAlloc, CPUBusyAvg: cpuBusy(),
	}
}

func cpuBusy() int {
	s := []metrics.Sample{{Name: "/cpu/classes/total:cpu-seconds"}, {Name: "/cpu/classes/idle:cpu-seconds"}}
	metrics.Read(s)
	if s[0].Value.Kind() != metrics.KindFloat64 || s[1].Value.Kind() != metrics.KindFloat64 || s[0].Value.Float64() == 0 {
		return 0
	}
	return int(100 * (1 - s[1].Value.Float64()/s[0].Value.Float64()))
}
