package delivery

import (
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"ledge/cmd/ledgetest"
	"ledge/domain"
)

// moodyReceiver takes notifications, but fails one call in three: it cuts the line or answers with an error. Sometimes it takes its time.
type moodyReceiver struct {
	*httptest.Server
	name    string // of the subscription that leads here
	mu      sync.Mutex
	random  *rand.Rand
	took    map[string]int      // by body: how often
	changes map[string][]uint64 // by device: the sequences, in the order in which they came
}

func newMoodyReceiver(t *testing.T, name string) *moodyReceiver {
	m := &moodyReceiver{name: name, random: rand.New(rand.NewPCG(*ledgetest.Seed, uint64(len(name)))), took: map[string]int{}, changes: map[string][]uint64{}}
	m.Server = httptest.NewServer(m)
	t.Cleanup(m.Close)
	return m
}

func (m *moodyReceiver) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	m.mu.Lock()
	mood := m.random.IntN(12)
	m.mu.Unlock()
	switch mood {
	case 0:
		panic(http.ErrAbortHandler)
	case 1, 2, 3:
		w.WriteHeader(http.StatusServiceUnavailable)
		return
	case 4:
		select {
		case <-time.After(30 * time.Millisecond):
		case <-r.Context().Done():
			return
		}
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.took[string(body)]++
	var change struct{ DeviceName string }
	if json.Unmarshal(body, &change) == nil {
		seq, _ := strconv.ParseUint(r.Header.Get("ce-sequence"), 10, 64)
		m.changes[change.DeviceName] = append(m.changes[change.DeviceName], seq)
	}
}

// isInOrder holds that the changes of each device came in the order of the log, apart from repeats, and that the newest came last.
func (m *moodyReceiver) isInOrder(t *testing.T) {
	t.Helper()
	m.mu.Lock()
	defer m.mu.Unlock()
	for device, all := range m.changes {
		var first []uint64
		for _, seq := range all {
			if !slices.Contains(first, seq) {
				first = append(first, seq)
			}
		}
		if first[0] == 0 || !slices.IsSorted(first) || all[len(all)-1] != first[len(first)-1] {
			t.Errorf("%s: the changes of %s came as %v", m.name, device, all)
		}
	}
}

func (m *moodyReceiver) times(body string) int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.took[body]
}

// repeats counts what came more than once.
func (m *moodyReceiver) repeats() (n int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, times := range m.took {
		n += times - 1
	}
	return n
}

// delivered are the transmissions that a log has as SENT: by subscription and content, the tries.
func delivered(all []ledgetest.Fact) map[[2]string][]domain.TransmissionRecord {
	contents, sent := map[string]string{}, map[[2]string][]domain.TransmissionRecord{}
	for _, f := range all {
		var data struct {
			Notification domain.Notification
			Raised       []domain.Raised
			Transmission domain.Transmission
		}
		_ = json.Unmarshal(f.Data, &data)
		for _, r := range append(data.Raised, domain.Raised{Notification: data.Notification}) {
			if r.Notification.ID != "" {
				contents[r.Notification.ID] = r.Notification.Content
			}
		}
		if t := data.Transmission; f.Type == "transmission.tried/1" && t.Status == domain.StatusSent {
			sent[[2]string{t.SubscriptionName, contents[t.NotificationID]}] = t.Records
		}
	}
	return sent
}

// TestDeliverySurvivesKills kills the process again and again in the middle of delivery to moody receivers. All that was acknowledged
// arrives, the changes of each device in order. What is on record as delivered is not sent again, and in the end all of it is on record.
func TestDeliverySurvivesKills(t *testing.T) {
	t.Parallel()
	rounds := 8
	if testing.Short() {
		rounds = 2
	}
	receivers := []*moodyReceiver{newMoodyReceiver(t, "a"), newMoodyReceiver(t, "bb")}
	load := &deliveryLoad{}
	final := map[[2]string]int{} // how often it had come when its delivery was on record
	dir, random := t.TempDir(), rand.New(rand.NewPCG(*ledgetest.Seed, 3))
	flags := []string{"--resend-limit", "99", "--resend-interval", "1ms"}
	p := ledgetest.Start(t, dir, flags...)
	for _, m := range receivers {
		p.SubscribeAll(m.name, "alarm", ledgetest.RestChannel(t, m.URL, "/"))
	}
	for round := range rounds {
		time.AfterFunc(time.Duration(300+random.IntN(1500))*time.Millisecond, func() { _ = p.Cmd.Process.Kill() })
		load.until(p, round)
		<-p.Exited
		before := len(final)
		for key := range delivered(ledgetest.Facts(t, dir)) {
			if _, known := final[key]; !known {
				final[key] = receiverOf(receivers, key[0]).times(key[1])
			}
		}
		t.Logf("kill %d: %d acknowledged in all, %d deliveries on record, %d more than before", round, len(load.acked), len(final), len(final)-before)
		p = ledgetest.Start(t, dir, flags...)
	}
	began := time.Now()
	ledgetest.AwaitNotified(t, p) // of what was added a moment before the last kill there is no notification yet
	p.WaitCount("transmission/status/RESENDING?limit=0", ledgetest.IsNone)
	t.Logf("all of it is delivered %v after the last start", time.Since(began).Round(time.Millisecond))
	all := ledgetest.Count(p, "transmission/all?limit=0")
	if n := ledgetest.Count(p, "transmission/status/SENT?limit=0"); n != all || n < len(load.acked)*len(receivers) {
		t.Errorf("%d of %d transmissions are SENT; %d notifications were acknowledged", n, all, len(load.acked))
	}
	p.Stop()
	for _, m := range receivers {
		m.isInOrder(t)
	}
	tries := checkDelivered(t, receivers, load.acked, delivered(ledgetest.Facts(t, dir)))
	for key, want := range final {
		if got := receiverOf(receivers, key[0]).times(key[1]); got != want {
			t.Errorf("%v: came %d times, %d of them before its delivery was on record", key, got, want)
		}
	}
	t.Logf("%d kills, %d acknowledged notifications, %d deliveries in %d tries, %d of them repeats of what was in flight at a kill",
		rounds, len(load.acked), all, tries, receivers[0].repeats()+receivers[1].repeats())
}

func receiverOf(all []*moodyReceiver, name string) *moodyReceiver {
	for _, m := range all {
		if m.name == name {
			return m
		}
	}
	return nil
}

// checkDelivered holds that what was acknowledged came, and is on record with the tries that failed before. It returns
// how many tries there are.
func checkDelivered(t *testing.T, receivers []*moodyReceiver, acked []string, sent map[[2]string][]domain.TransmissionRecord) (tries int) {
	t.Helper()
	for _, m := range receivers {
		for _, content := range acked {
			records := sent[[2]string{m.name, content}]
			if m.times(content) == 0 || len(records) == 0 {
				t.Errorf("%s: %s came %d times, on record %+v", m.name, content, m.times(content), records)
			}
		}
	}
	for key, records := range sent {
		tries += len(records)
		for i, r := range records {
			if want := i == len(records)-1; (r.Status == domain.StatusSent) != want {
				t.Errorf("%v: try %d of %d is %s", key, i+1, len(records), r.Status)
			}
		}
	}
	return tries
}

// deliveryLoad adds and changes devices and posts notifications, and remembers the contents of the notifications that have to come.
type deliveryLoad struct {
	mu    sync.Mutex
	acked []string
}

// devicesInRound bounds what each client adds before a kill: what a fast machine leaves behind is delivered within the time of the test.
const devicesInRound = 15

// until goes on, with four clients, until the process is gone or each client has added its devices.
func (l *deliveryLoad) until(p *ledgetest.Node, round int) {
	var clients sync.WaitGroup
	for client := range 4 {
		clients.Go(func() {
			for i := 0; i < devicesInRound && l.one(p, fmt.Sprintf("d-%d-%d-%d", round, client, i)); i++ {
			}
		})
	}
	clients.Wait()
}

func (l *deliveryLoad) one(p *ledgetest.Node, name string) bool {
	change := func(action, operating, admin string) string {
		return fmt.Sprintf(`{"deviceName":%q,"deviceServiceName":"device-rest","actionType":%q,"operatingState":%q,"adminState":%q}`, name, action, operating, admin)
	}
	patch := func(operating, admin string) bool {
		return l.send(http.MethodPatch, p.Metadata+"/api/v2/device", fmt.Sprintf(`[{"apiVersion":"v2","device":{"name":%q,"operatingState":%q,"adminState":%q}}]`, name, operating, admin),
			change("Device update", operating, admin))
	}
	return l.send(http.MethodPost, p.Metadata+"/api/v2/device", "["+ledgetest.DeviceJSON(name)+"]", change("Device creation", "UP", "UNLOCKED")) &&
		patch("DOWN", "UNLOCKED") && patch("DOWN", "LOCKED") && patch("UP", "LOCKED") &&
		l.send(http.MethodPost, p.Notifications+"/api/v2/notification", ledgetest.NotificationJSON("alarm", "posted "+name), "posted "+name)
}

func (l *deliveryLoad) send(method, url, body, content string) bool {
	a, err := ledgetest.TryCall(method, url, "application/json", body)
	if err != nil || len(ledgetest.Statuses(a)) != 1 || ledgetest.Statuses(a)[0] >= http.StatusMultipleChoices {
		return false
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.acked = append(l.acked, content)
	return true
}
