package ledgetest

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"ledge/cmd/internal/exit"
)

// Fact is a line of `ledge log --json`.
type Fact struct {
	Subject, Type                string
	Actor, Origin, CorrelationID string
	Seq                          uint64
	Size                         int
	Ext                          map[string]string
	Data                         json.RawMessage
}

// Facts reads the whole log of a folder, beside a running server or without one.
func Facts(tb testing.TB, dir string) []Fact {
	tb.Helper()
	all, err := TryFacts(dir)
	if err != nil {
		tb.Fatal(err)
	}
	return all
}

// TryFacts is Facts that returns its error.
func TryFacts(dir string) (all []Fact, err error) {
	out, errs, code, err := TryRun(context.Background(), "log", "--json", "--log-level", "error", "--data-dir", dir)
	if err == nil && code != exit.OK {
		err = fmt.Errorf("exit code %d: %s", code, errs)
	}
	if err != nil {
		return nil, fmt.Errorf("ledge log: %w", err)
	}
	for line := range strings.Lines(out) {
		var f Fact
		if err := json.Unmarshal([]byte(line), &f); err != nil {
			return nil, fmt.Errorf("%s: %w", line, err)
		}
		all = append(all, f)
	}
	return all, nil
}

// named is the part of a fact's data that says what it is about.
type named struct {
	Subscription, Device struct{ Name string }
	Notification         notice
	Raised               []struct{ Notification notice }
}

type notice struct {
	ID, Status string
	Cause      uint64
	Matched    []string
}

func (f Fact) of() (n named) {
	_ = json.Unmarshal(f.Data, &n)
	return n
}

func (f Fact) isDevice() bool { return strings.HasPrefix(f.Type, "device.") }

// isTry reports whether f tells of a try, which may be the last one that a notification of an earlier fact waits for.
func (f Fact) isTry() bool { return f.Type == "transmission.tried/1" }

// notices are the notifications that f tells of, as they are after it.
func (f Fact) notices() (list []notice) {
	switch n := f.of(); {
	case strings.HasPrefix(f.Type, "notification."), f.isTry() && n.Notification.ID != "":
		return []notice{n.Notification}
	case f.Type == "notifications.raised/1":
		for _, r := range n.Raised {
			list = append(list, r.Notification)
		}
	}
	return list
}

// CheckNotified holds that every device change that met a subscription has one notification, with those of its moment that want it, and that
// each has one outcome. A change without any subscription has none. It returns how many there are.
func CheckNotified(tb testing.TB, all []Fact) int {
	tb.Helper()
	matched := map[uint64]string{} // by device change
	subscribed := map[string]bool{}
	for _, f := range all {
		switch {
		case f.isDevice() && len(subscribed) > 0:
			matched[f.Seq] = strings.Join(slices.Sorted(maps.Keys(subscribed)), " ")
		case f.Type == "subscription.added/3":
			subscribed[f.of().Subscription.Name] = true
		case f.Type == "subscription.removed/3":
			delete(subscribed, f.of().Subscription.Name)
		}
	}
	raised, processed := map[uint64]int{}, map[string]int{} // by cause, by id
	for _, f := range all {
		for _, n := range f.notices() {
			if n.Status == "PROCESSED" {
				processed[n.ID]++
			}
			if !f.isTry() {
				raised[n.Cause]++
			}
			want, known := matched[n.Cause]
			if got := strings.Join(n.Matched, " "); !known || got != want {
				tb.Errorf("notification of event %d (a device change: %v) matched %q, want %q", n.Cause, known, got, want)
			}
		}
	}
	for seq := range matched {
		if raised[seq] != 1 {
			tb.Errorf("device change %d has %d notifications, want 1", seq, raised[seq])
		}
	}
	for id, n := range processed {
		if n != 1 {
			tb.Errorf("notification %s has %d outcomes, want 1", id, n)
		}
	}
	if len(processed) != len(matched) {
		tb.Errorf("%d notifications have an outcome, want %d", len(processed), len(matched))
	}
	return len(matched)
}

// CheckReadings holds that what was acknowledged is on the log, nothing twice, and its bodies beside it.
func CheckReadings(tb testing.TB, dir string, all []Fact, acked map[string]bool) {
	tb.Helper()
	posted := map[string]int{}
	for _, f := range all {
		if !strings.HasPrefix(f.Type, "reading.") {
			continue
		}
		key := string(f.Data)
		if digest := f.Ext["digest"]; digest != "" {
			key = digest
			CheckPayload(tb, dir, digest)
		}
		if posted[key]++; posted[key] > 1 {
			tb.Errorf("reading %s is on the log %d times", key, posted[key])
		}
	}
	for key := range acked {
		if posted[key] == 0 {
			tb.Errorf("reading %s was acknowledged and is not on the log", key)
		}
	}
}

// CheckPayload holds that the body with a SHA-256 is whole in a data folder.
func CheckPayload(tb testing.TB, dir, digest string) {
	tb.Helper()
	if err := PayloadIsWhole(dir, digest); err != nil {
		tb.Error(err)
	}
}

// PayloadIsWhole returns an error if the body with a SHA-256 is missing in a data folder, or altered.
func PayloadIsWhole(dir, digest string) error {
	b, err := os.ReadFile(filepath.Join(dir, "payloads", digest))
	if sum := sha256.Sum256(b); err != nil || hex.EncodeToString(sum[:]) != digest {
		return fmt.Errorf("body %s of a reading on the log: %w, %d bytes", digest, err, len(b))
	}
	return nil
}

var endOfEvents = regexp.MustCompile(`LEDGE_EVENTS: whole, \d+ events, \d+ to (\d+),`)

// Verify holds that `ledge verify` is content and returns where the events end.
func Verify(tb testing.TB, dir string) (last int) {
	tb.Helper()
	out, errs, code := Run(tb, "verify", "--data-dir", dir)
	found := endOfEvents.FindStringSubmatch(out)
	if code != exit.OK || found == nil {
		tb.Fatalf("ledge verify: exit code %d\n%s%s", code, out, errs)
	}
	last, _ = strconv.Atoi(found[1])
	return last
}

// AwaitNotified waits until every device change that met a subscription has its notification, and every notification its outcome.
func AwaitNotified(tb testing.TB, p *Node) {
	tb.Helper()
	Until(tb, "the notifications", func() bool {
		raised, open, subscriptions := map[uint64]bool{}, map[string]bool{}, 0 // by cause, by id
		all := Facts(tb, p.Dir)
		for _, f := range all {
			for _, n := range f.notices() {
				raised[n.Cause], open[n.ID] = true, n.Status == "NEW"
			}
		}
		missing := slices.ContainsFunc(all, func(f Fact) bool {
			switch f.Type {
			case "subscription.added/3":
				subscriptions++
			case "subscription.removed/3":
				subscriptions--
			}
			return f.isDevice() && subscriptions > 0 && !raised[f.Seq]
		})
		return !missing && !slices.Contains(slices.Collect(maps.Values(open)), true)
	})
}

// Until asks again and again, until done or until it is clear that it hangs.
func Until(tb testing.TB, what string, done func() bool) {
	tb.Helper()
	hung := time.After(Timeout)
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for !done() {
		select {
		case <-tick.C:
		case <-hung:
			tb.Fatalf("waited %v for %s", Timeout, what)
		}
	}
}
