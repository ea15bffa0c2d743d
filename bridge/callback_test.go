package bridge_test

import (
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"ledge/bridge/callback"
	"ledge/domain"
)

const (
	devicePath  = "/api/v2/callback/device"
	watcherPath = "/api/v2/callback/watcher"
)

func patch(name string, fields ...any) domain.UpdateDevice {
	return domain.UpdateDevice{Patch: domain.PatchOf[domain.Device](append([]any{"name", name}, fields...)...), At: time.Now().UnixMilli()}
}

func describe(name, text string) domain.UpdateDevice {
	return patch(name, "description", text)
}

func describeProfile(text string) domain.UpdateProfileInfo {
	return domain.UpdateProfileInfo{Patch: domain.PatchOf[domain.Profile]("name", "profile", "description", text)}
}

// A service hears of its devices, watchers and profiles and of itself, in the order of the events, and of nothing else.
func TestCallbacks(t *testing.T) {
	n := mustNode(t)
	n.startCallbacks()
	a, b := n.mustService("a"), n.mustService("b")
	watcher := domain.ProvisionWatcher{ID: uuid.NewString(), Name: "w", Identifiers: map[string]string{"x": "y"}, ServiceName: "a", ProfileName: "profile", AdminState: domain.StateUnlocked}
	d := deviceOf(a, "d")
	d.Labels, d.ProtocolName = []string{"l"}, "modbus-tcp"
	n.do(domain.AddDevice{Device: d},
		patch("d", "labels", []string{}),
		describeProfile("other"),
		domain.AddWatcher{Watcher: watcher},
		domain.UpdateWatcher{Patch: domain.PatchOf[domain.ProvisionWatcher]("name", "w", "serviceName", "b")},
		domain.RemoveWatcher{Name: "w"},
		domain.UpdateService{Patch: domain.PatchOf[domain.DeviceService]("name", "a", "lastConnected", int64(7))},
		domain.UpdateService{Patch: domain.PatchOf[domain.DeviceService]("name", "a", "lastReported", int64(7))},
		domain.UpdateService{Patch: domain.PatchOf[domain.DeviceService]("name", "a", "lastConnected", int64(8), "lastReported", int64(8))},
		patch("d", "lastConnected", int64(7)),
		patch("d", "lastReported", int64(7)),
		patch("d", "lastConnected", int64(8), "lastReported", int64(8)),
		domain.UpdateService{Patch: domain.PatchOf[domain.DeviceService]("name", "a", "adminState", domain.StateLocked)},
		domain.AddUser{User: domain.User{Name: "a", Role: domain.Admin, Credential: "c"}},
		domain.SetPassword{Name: "a", Credential: "c-2"},
		domain.AddToken{Token: domain.Token{Name: "a", Role: domain.Poster, Devices: []string{"d"}, Credential: "c-3"}},
		domain.RemoveToken{Name: "a"},
		domain.RemoveDevice{Name: "d"},
		describeProfile("third"),
	)
	calls := a.wantCalls("POST "+devicePath, "PUT "+devicePath, "PUT /api/v2/callback/profile", "POST "+watcherPath, "PUT "+watcherPath,
		"PUT /api/v2/callback/service", "DELETE "+devicePath+"/name/d")
	b.wantCalls("PUT "+watcherPath, "DELETE "+watcherPath+"/name/w")
	for i, want := range []string{
		`adminState:UNLOCKED created:0 id:` + d.ID + ` labels:[l] modified:0 name:d operatingState:UP profileName:profile protocolName:modbus-tcp protocols:map[other:map[]] serviceName:a`,
		`adminState:UNLOCKED autoEvents:[] description: id:` + d.ID + ` labels:[] lastConnected:0 lastReported:0 location:<nil> name:d notify:false operatingState:UP profileName:profile protocolName:modbus-tcp protocols:map[other:map[]] serviceName:a`,
		`description:other`,
		`adminState:UNLOCKED created:0 id:` + watcher.ID + ` identifiers:map[x:y] modified:0 name:w profileName:profile serviceName:a`,
		`adminState:UNLOCKED autoEvents:[] blockingIdentifiers:map[] id:` + watcher.ID + ` identifiers:map[x:y] labels:[] name:w profileName:profile serviceName:b`,
		`adminState:LOCKED baseAddress:` + a.url() + ` description: id:`,
	} {
		if got := fmt.Sprint(calls[i].entity); !strings.Contains(got, want) {
			t.Errorf("%s: got %s, want %s", calls[i].call, got, want)
		}
		if _, err := uuid.Parse(calls[i].requestID); err != nil {
			t.Errorf("%s: requestId %q: %v", calls[i].call, calls[i].requestID, err)
		}
	}
}

// A device that moves is told to the service that it leaves and to the one that it comes to.
func TestCallbacksOfAMove(t *testing.T) {
	n := mustNode(t)
	c := n.startCallbacks()
	a, b := n.mustService("a"), n.mustService("b")
	n.do(domain.AddDevice{Device: deviceOf(a, "d")},
		patch("d", "serviceName", "b"),
		patch("d", "lastConnected", int64(9), "description", "b's alone"))
	b.wantCalls("PUT "+devicePath, "PUT "+devicePath)
	n.do(patch("d", "serviceName", "a"))
	a.wantCalls("POST "+devicePath, "PUT "+devicePath, "PUT "+devicePath)
	b.wantCalls("PUT "+devicePath, "PUT "+devicePath, "PUT "+devicePath)
	c.Close()
	n.do(patch("d", "serviceName", "b"))
	n.startCallbacks() // which finds the device with b
	b.hears(4)
	a.wantCalls("POST "+devicePath, "PUT "+devicePath, "PUT "+devicePath, "PUT "+devicePath)
}

// What a service answers with 5xx is tried again, so many times; what it answers with 4xx is not.
func TestCallbacksThatFail(t *testing.T) {
	for _, tt := range []struct {
		status int
		tries  int
	}{{500, 3}, {507, 3}, {408, 3}, {400, 1}, {404, 1}, {423, 1}, {207, 1}} {
		t.Run(fmt.Sprint(tt.status), func(t *testing.T) {
			t.Parallel()
			n := mustNode(t)
			n.startCallbacks()
			a := n.mustService("a")
			a.answering(func(call string, _ int) int {
				if strings.HasPrefix(call, "POST") {
					return tt.status
				}
				return http.StatusOK
			})
			n.do(domain.AddDevice{Device: deviceOf(a, "d")}, domain.RemoveDevice{Name: "d"})
			want := slices.Repeat([]string{"POST " + devicePath}, tt.tries)
			a.wantCalls(append(want, "DELETE "+devicePath+"/name/d")...)
		})
	}
}

// A service that refuses everything is not called in vain again and again; once it takes something, trying again is
// worth it again.
func TestCallbacksInVain(t *testing.T) {
	n := mustNode(t)
	n.startCallbacks()
	a := n.mustService("a")
	post, put := "POST "+devicePath, "PUT "+devicePath
	a.answering(func(call string, before int) int {
		if call == post && before != 6 {
			return http.StatusInternalServerError
		}
		return http.StatusOK
	})
	n.do(domain.AddDevice{Device: deviceOf(a, "1")}, domain.AddDevice{Device: deviceOf(a, "2")}, describe("2", "x"),
		domain.AddDevice{Device: deviceOf(a, "3")}, domain.AddDevice{Device: deviceOf(a, "4")}, domain.AddDevice{Device: deviceOf(a, "5")})
	a.wantCalls(post, post, post, post, put, post, post, post, post, post)
	if calls := a.hears(10); calls[6].entity["name"] != "4" || calls[9].entity["name"] != "5" {
		t.Errorf("got %v", calls)
	}
}

// One that stalls delays no other service, and gets its calls in order when it is itself again.
func TestCallbacksOfOneThatStalls(t *testing.T) {
	n := mustNode(t)
	n.startCallbacks(func(o *callback.Options) { o.Timeout = time.Second })
	a, b := n.mustService("a"), n.mustService("b")
	a.answering(func(string, int) int { return 0 })
	n.do(domain.AddDevice{Device: deviceOf(a, "d")}, domain.RemoveDevice{Name: "d"})
	a.hears(1)
	n.do(domain.AddDevice{Device: deviceOf(b, "e")})
	b.wantCalls("POST " + devicePath)
	a.hears(2)
	a.answering(nil)
	for calls := a.hears(3); ; calls = a.hears(len(calls) + 1) {
		if last := calls[len(calls)-1].call; strings.HasPrefix(last, "DELETE") {
			break
		}
	}
}

// More services that stall than calls are under way at once hold nobody up: one that answered before hears at once, and one that is new as well.
func TestCallbacksOfManyThatStall(t *testing.T) {
	n := mustNode(t)
	n.startCallbacks(func(o *callback.Options) { o.Concurrency, o.Timeout = 4, time.Hour })
	known := n.mustService("known")
	n.do(domain.AddDevice{Device: deviceOf(known, "first")})
	known.wantCalls("POST " + devicePath)
	stalls := make([]*deviceService, 9)
	for i := range stalls {
		stalls[i] = n.mustService(fmt.Sprint("stalls-", i))
		stalls[i].answering(func(string, int) int { return 0 })
		n.do(domain.AddDevice{Device: deviceOf(stalls[i], fmt.Sprint("d-", i))})
	}
	stalls[0].hears(1)
	n.do(domain.AddDevice{Device: deviceOf(known, "second")})
	known.wantCalls("POST "+devicePath, "POST "+devicePath)
	fresh := n.mustService("new")
	n.do(domain.AddDevice{Device: deviceOf(fresh, "third")})
	fresh.wantCalls("POST " + devicePath)
	for _, s := range stalls {
		s.hears(1)
	}
}

// What happens while a service is down reaches it when it is up again, and what happens while Ledge is down too.
func TestCallbacksOfOneThatDies(t *testing.T) {
	n := mustNode(t)
	c := n.startCallbacks()
	a, b := n.mustService("a"), n.mustService("b")
	n.do(domain.AddDevice{Device: deviceOf(a, "d")})
	a.hears(1)
	a.die()
	n.do(describe("d", "1"), patch("d", "serviceName", "b"), domain.AddDevice{Device: deviceOf(b, "e")})
	b.wantCalls("PUT "+devicePath, "POST "+devicePath)
	c.Close()
	n.do(patch("d", "serviceName", "a"), domain.RemoveDevice{Name: "d"})
	n.startCallbacks()
	b.wantCalls("PUT "+devicePath, "POST "+devicePath, "PUT "+devicePath)
	a.live()
	calls := a.wantCalls("POST "+devicePath, "PUT "+devicePath, "PUT "+devicePath, "PUT "+devicePath, "DELETE "+devicePath+"/name/d")
	for i, want := range []string{"1 a", "1 b", "1 a"} {
		if got := fmt.Sprint(calls[i+1].entity["description"], " ", calls[i+1].entity["serviceName"]); got != want {
			t.Errorf("update %d: got %q, want %q", i, got, want)
		}
	}
	if calls := b.hears(3); len(calls) != 3 {
		t.Errorf("b was told again because a was behind: %v", calls)
	}
}

// Who is told of a profile is who had a device with it then.
func TestCallbacksAreAsOfTheirEvent(t *testing.T) {
	n := mustNode(t)
	a, b := n.mustService("a"), n.mustService("b")
	n.do(domain.AddProfile{Profile: domain.Profile{ID: uuid.NewString(), Name: "other"}}, domain.AddDevice{Device: deviceOf(a, "d")})
	c := n.startCallbacks()
	a.hears(1)
	c.Close()
	n.do(describeProfile("a's"),
		patch("d", "profileName", "other"),
		describeProfile("nobody's"),
		domain.AddDevice{Device: deviceOf(b, "e")},
		describeProfile("b's"),
		domain.RemoveDevice{Name: "e"}, domain.RemoveDevice{Name: "d"})
	n.startCallbacks()
	calls := a.wantCalls("POST "+devicePath, "PUT /api/v2/callback/profile", "PUT "+devicePath, "DELETE "+devicePath+"/name/d")
	if got := calls[1].entity["description"]; got != "a's" {
		t.Errorf("a was told of %v", got)
	}
	calls = b.wantCalls("POST "+devicePath, "PUT /api/v2/callback/profile", "DELETE "+devicePath+"/name/e")
	if got := calls[1].entity["description"]; got != "b's" {
		t.Errorf("b was told of %v", got)
	}
}

// A service that comes back elsewhere is called there at once.
func TestCallbacksFollowTheAddress(t *testing.T) {
	n := mustNode(t)
	n.startCallbacks()
	a := n.mustService("a")
	a.die()
	n.do(domain.AddDevice{Device: deviceOf(a, "d")})
	a.addr = ownAddress(t)
	a.live()
	n.do(domain.UpdateService{Patch: domain.PatchOf[domain.DeviceService]("name", "a", "baseAddress", a.url())})
	a.wantCalls("POST "+devicePath, "PUT /api/v2/callback/service")
}

// One that never answers costs a bounded queue, and what waited too long is given up.
func TestCallbacksAreGivenUp(t *testing.T) {
	n, printed := mustNode(t), newPrinted()
	n.startCallbacks(func(o *callback.Options) {
		o.Waiting, o.GiveUp, o.Logger = 3, time.Minute, slog.New(slog.NewTextHandler(printed, nil))
	})
	a, b := n.mustService("a"), n.mustService("b")
	a.die()
	n.do(domain.AddDevice{Device: deviceOf(a, "d")})
	for i := range 5 {
		n.do(describe("d", fmt.Sprint(i)))
	}
	n.do(domain.AddDevice{Device: deviceOf(b, "e")})
	b.hears(1) // so a's are queued
	printed.await(t, "callbacks dropped")
	n.ahead.Store(int64(2 * time.Minute))
	printed.await(t, `given up: the device service does not answer" service=a count=3`)
	n.do(domain.RemoveDevice{Name: "d"})
	a.live()
	a.wantCalls("DELETE " + devicePath + "/name/d")
	printed.await(t, "some were dropped")
}

// printed is what a logger prints.
type printed struct {
	mu   sync.Mutex
	text strings.Builder
	more chan struct{}
}

func newPrinted() *printed { return &printed{more: make(chan struct{}, 1)} }

func (p *printed) Write(line []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	select {
	case p.more <- struct{}{}:
	default:
	}
	return p.text.Write(line)
}

// await waits until text was printed.
func (p *printed) await(tb testing.TB, text string) {
	tb.Helper()
	for deadline := time.After(hangs); ; {
		p.mu.Lock()
		all := p.text.String()
		p.mu.Unlock()
		if strings.Contains(all, text) {
			return
		}
		select {
		case <-p.more:
		case <-deadline:
			tb.Fatalf("%q was not printed:\n%s", text, all)
		}
	}
}

// After a stop nothing is repeated.
func TestCallbacksGoOn(t *testing.T) {
	n := mustNode(t)
	c := n.startCallbacks()
	a := n.mustService("a")
	n.do(domain.AddDevice{Device: deviceOf(a, "d")})
	a.hears(1)
	c.Close()
	c = n.startCallbacks()
	n.do(describe("d", "1"))
	a.wantCalls("POST "+devicePath, "PUT "+devicePath)
	c.Close()
	notes, done := n.notes.State()
	defer done()
	if at, _ := notes.Cursors.Get(domain.CursorCallbacks); at == 0 {
		t.Error("no position is on record")
	}
}

// A redirect keeps the method and the body of a callback, or the callback is refused: it never becomes a GET.
func TestRedirectedCallbacks(t *testing.T) {
	for _, test := range []struct {
		status   int
		followed bool
	}{
		{http.StatusMovedPermanently, false}, {http.StatusFound, false}, {http.StatusSeeOther, false}, {http.StatusTemporaryRedirect, true}, {http.StatusPermanentRedirect, true},
	} {
		t.Run(strconv.Itoa(test.status), func(t *testing.T) {
			n, printed := mustNode(t), newPrinted()
			n.startCallbacks(func(o *callback.Options) { o.Logger = slog.New(slog.NewTextHandler(printed, nil)) })
			a := n.mustService("a")
			direct := a.server
			direct.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if inner, ok := strings.CutPrefix(r.URL.Path, "/moved"); ok {
					r.URL.Path = inner
					a.ServeHTTP(w, r)
					return
				}
				http.Redirect(w, r, "/moved"+r.URL.Path, test.status)
			})
			d := deviceOf(a, "d")
			n.do(domain.AddDevice{Device: d}, describe("d", "text"), domain.RemoveDevice{Name: "d"})
			if test.followed {
				calls := a.wantCalls("POST "+devicePath, "PUT "+devicePath, "DELETE "+devicePath+"/name/d")
				if calls[0].entity["name"] != "d" || calls[1].entity["description"] != "text" {
					t.Errorf("the bodies did not come: %v", calls)
				}
				return
			}
			for range 3 {
				printed.await(t, `device service refuses a callback" service=a`)
				printed.forget(`device service refuses a callback" service=a`)
			}
			if len(a.calls) > 0 {
				t.Errorf("was called: %v", a.calls)
			}
		})
	}
}

// forget takes the first line with a text out of what was printed.
func (p *printed) forget(text string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	all := p.text.String()
	p.text.Reset()
	p.text.WriteString(strings.Replace(all, text, "", 1))
}
