package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"time"

	"ledge/domain"
)

const (
	hotDevice     = 0   // the device with the history
	hotChanges    = 100 // one of so many events changes it; at most mostHot do
	mostHot       = 1000
	historyTarget = 50  // ms
	asOfTarget    = 100 // ms
)

// auditLog measures the questions of auditors to a long log.
func auditLog(ctx context.Context, b *bench) error {
	dir, done, err := b.folder("audit")
	if err != nil {
		return err
	}
	defer done()
	if err := fillHistory(ctx, dir, b.counts.auditEvents); err != nil {
		return err
	}
	if err := skipNotifications(ctx, dir); err != nil {
		return err
	}
	ledge, err := b.startLedge(ctx, dir)
	if err != nil {
		return err
	}
	defer ledge.stop()
	if err := ledge.awaitIdle(ctx); err != nil {
		return err
	}
	a := &audits{b, ledge, dir}
	hot := deviceName(hotDevice)
	of := " of " + whole(float64(b.counts.auditEvents)) + " events"
	back := b.counts.auditEvents - b.counts.auditEvents/100
	for _, q := range []struct {
		name, path string
		target     float64 // ms; 0 for none
	}{
		{"the last 20 changes of a device" + of, "/api/v2/ledger/history/device/" + hot, historyTarget},
		{"up to 1,000 changes of a device" + of, "/api/v2/ledger/history/device/" + hot + "?limit=-1", historyTarget},
		{"a device as of the start" + of, devicePath + "/name/" + hot + "?asOf=" + strconv.Itoa(len(base())+1), 0},
		{"20 devices as of 1 % of the events ago", devicePath + "/all?asOf=" + strconv.Itoa(back), asOfTarget},
		{"a checkpoint" + of, "/api/v2/ledger/checkpoint", 0},
	} {
		row, err := a.measure(ctx, q.name, q.path)
		if err != nil {
			return err
		}
		if q.target > 0 {
			row.Target = below(q.target, "ms p50", row.Ledge.P50)
		}
	}
	return a.prove(ctx, b.counts.auditEvents/2)
}

// fillHistory makes a folder with a log of n events: of a tenth of them each adds a device, and the others change devices.
func fillHistory(ctx context.Context, dir string, n int) error {
	return onLog(ctx, dir, func(l *eventLog) error {
		devices, every := min(n/10, 100_000), max(hotChanges, n/mostHot)
		if err := l.addDevices(ctx, devices); err != nil {
			return err
		}
		for i := devices; i < n; {
			var group []domain.Request
			for ; len(group) < fillStep && i < n; i++ {
				name := deviceName(1 + i%(devices-1))
				if i%every == 0 {
					name = deviceName(hotDevice)
				}
				patch := domain.PatchOf[domain.Device]("name", name, "description", fmt.Sprint("change ", i))
				group = append(group, request(domain.UpdateDevice{Patch: patch, At: time.Now().UnixMilli()}))
			}
			if err := l.submit(ctx, group...); err != nil {
				return fmt.Errorf("change %d: %w", i, err)
			}
		}
		return nil
	})
}

// audits are questions to a server.
type audits struct {
	*bench
	ledge *process
	dir   string
}

// measure asks for a path again and again, one client alone, and reads as many bytes from a file of the log beside it.
func (a *audits) measure(ctx context.Context, name, path string) (*row, error) {
	list, done, err := clients(ctx, a.ledge.metadata, 1)
	if err != nil {
		return nil, err
	}
	defer done()
	request := httpRequest(http.MethodGet, path, nil)
	answer, err := list[0].call(request, http.StatusOK)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	do := func(f func() error) side {
		return func(ctx context.Context, _ int) (measured, error) {
			w := work{workers: 1, count: a.counts.pages, each: 1, limit: a.counts.limit, do: func(int, int) error { return f() }}
			before := a.ledge.cpu()
			m, err := w.run(ctx)
			m.cpu = a.ledge.cpu() - before
			return m, err
		}
	}
	raw := bytes.NewBuffer(make([]byte, 0, len(answer)))
	rows, err := compare(ctx, a.counts.pageRounds,
		do(func() error { _, err := list[0].call(request, http.StatusOK); return err }),
		do(func() error { raw.Reset(); return a.readRaw(raw, int64(len(answer))) }))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return a.report.add(rows[0].against(rows[1], name)), nil
}

// readRaw reads the first bytes of the block files.
func (a *audits) readRaw(into *bytes.Buffer, bytes int64) error {
	blocks, err := filepath.Glob(filepath.Join(a.dir, "nats", "*", "*", "*", "*", "msgs", "*.blk"))
	for _, name := range blocks {
		if bytes <= 0 || err != nil {
			break
		}
		var f *os.File
		if f, err = os.Open(name); err != nil {
			break
		}
		var n int64
		n, err = into.ReadFrom(io.LimitReader(f, bytes))
		bytes -= n
		err = errors.Join(err, f.Close())
	}
	return err
}

// prove measures `ledge prove` beside the server, from exec to its end.
func (a *audits) prove(ctx context.Context, seq int) error {
	w := work{workers: 1, count: a.counts.pages, each: 1, limit: a.counts.limit, do: func(int, int) error {
		out, err := exec.CommandContext(ctx, a.bench.ledge, "prove", strconv.Itoa(seq), "--data-dir", a.dir).CombinedOutput()
		if err != nil {
			return fmt.Errorf("prove: %w: %s", err, out)
		}
		return nil
	}}
	rows, err := compare(ctx, a.counts.pageRounds, func(ctx context.Context, _ int) (measured, error) { return w.run(ctx) })
	if err == nil {
		a.report.add(rows[0].alone("ledge prove, from exec to its end"))
	}
	return err
}
