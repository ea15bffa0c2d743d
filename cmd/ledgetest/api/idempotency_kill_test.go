package api

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"ledge/cmd/internal/exit"
	"ledge/cmd/ledgetest"
)

// once is a request with a key, and its first answer, where there was one.
type once struct {
	url               func(p *ledgetest.Node) string
	key, contentType  string
	body              string
	first             ledgetest.Answer
	names             []string // of the devices that it adds; the last of them once more at its end
	reading, notified string   // the value that it posts, the content of the notification
}

func (o *once) send(p *ledgetest.Node) (ledgetest.Answer, error) {
	req, err := http.NewRequest(http.MethodPost, o.url(p), strings.NewReader(o.body))
	if err != nil {
		return ledgetest.Answer{}, err
	}
	req.Header.Set("Content-Type", o.contentType)
	req.Header.Set("Idempotency-Key", o.key)
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return ledgetest.Answer{}, err
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	return ledgetest.Answer{Status: resp.StatusCode, Body: string(b), Header: resp.Header}, err
}

func devicesOnce(key string, n int) *once {
	o := &once{key: key, contentType: "application/json", url: func(p *ledgetest.Node) string { return p.Metadata + "/api/v2/device" }}
	var elements []string
	for i := range n {
		o.names = append(o.names, fmt.Sprintf("%s-%d", key, i))
		elements = append(elements, ledgetest.DeviceJSON(o.names[i]))
	}
	o.body = "[" + strings.Join(append(elements, elements[n-1]), ",") + "]"
	return o
}

var readingsOnce atomic.Int64

func readingOnce(key string) *once {
	value := fmt.Sprint(readingsOnce.Add(1))
	return &once{
		key: key, contentType: "text/plain", body: value, reading: value,
		url: func(p *ledgetest.Node) string { return p.DeviceREST + "/api/v2/resource/sample-numeric/int" },
	}
}

func notificationOnce(key string) *once {
	return &once{
		key: key, contentType: "application/json", notified: key, url: func(p *ledgetest.Node) string { return p.Notifications + "/api/v2/notification" },
		body: `[{"apiVersion":"v2","notification":{"category":"c","content":"` + key + `","sender":"me","severity":"NORMAL"}}]`,
	}
}

// work sends small requests until the process is gone.
func work(p *ledgetest.Node, client string) (sent []*once) {
	for n := 0; ; n++ {
		key := fmt.Sprintf("%s-%d", client, n)
		o := devicesOnce(key, 1+n%20)
		switch n % 3 {
		case 1:
			o = readingOnce(key)
		case 2:
			o = notificationOnce(key)
		}
		sent = append(sent, o)
		var err error
		if o.first, err = o.send(p); err != nil {
			o.first = ledgetest.Answer{}
			return sent
		}
	}
}

// TestKillBetweenElements kills the process in the middle of requests with keys, under load, and sends them again: each
// has the answer that it had, or would have had, and nothing is there twice.
func TestKillBetweenElements(t *testing.T) {
	t.Parallel()
	rounds := 5
	if testing.Short() {
		rounds = 2
	}
	dir, partial := t.TempDir(), 0
	var all []*once
	p := ledgetest.Start(t, dir)
	for round := 0; round < rounds || partial == 0 && round < 10*rounds; round++ {
		added := p.SubscribeNATS(t, "ledge.event.device.*.added")
		big := devicesOnce(fmt.Sprintf("big-%d", round), 3500)
		sent := [][]*once{{big}, nil, nil}
		var wg sync.WaitGroup
		for i := range sent[1:] {
			wg.Go(func() { sent[i+1] = work(p, fmt.Sprintf("small-%d-%d", round, i)) })
		}
		wg.Go(func() {
			if a, err := big.send(p); err == nil {
				big.first = a
			}
		})
		for !strings.Contains(added.Next(t).Subject, "."+big.key+"-") {
		}
		p.Kill()
		wg.Wait()
		p = ledgetest.Start(t, dir)
		if p.HasDevice(big.names[0]) && !p.HasDevice(big.names[len(big.names)-1]) {
			partial++
		}
		requests := slices.Concat(sent...)
		for _, o := range requests {
			again(p, t, o)
		}
		all = append(all, requests...)
	}
	afterDeletes(p, t, all)
	if code := p.Stop(); code != exit.OK {
		t.Errorf("exit code %d at the end", code)
	}
	ledgetest.Verify(t, dir)
	checkOnce(t, ledgetest.Facts(t, dir), all)
	if partial == 0 {
		t.Errorf("no kill of %d was between the elements of a request", rounds)
	}
	t.Logf("%d requests, %d of %d kills between the elements of the large one", len(all), partial, rounds)
}

// again sends o twice at once.
func again(p *ledgetest.Node, t *testing.T, o *once) {
	t.Helper()
	var got [2]ledgetest.Answer
	var errs [2]error
	var wg sync.WaitGroup
	for i := range got {
		wg.Go(func() { got[i], errs[i] = o.send(p) })
	}
	wg.Wait()
	if errs[0] != nil || errs[1] != nil {
		t.Fatalf("%s: %v, %v\n%s", o.key, errs[0], errs[1], p.Log)
	}
	if o.first.Status == 0 {
		o.first = got[0]
	}
	for _, a := range got {
		if a.Status != o.first.Status || a.Body != o.first.Body {
			t.Fatalf("%s: got %d %.300s, want %d %.300s", o.key, a.Status, a.Body, o.first.Status, o.first.Body)
		}
	}
	if len(o.names) == 0 {
		return
	}
	for i, status := range ledgetest.Statuses(o.first) {
		if (status == http.StatusCreated) != (i < len(o.names)) || i == len(o.names) && status != http.StatusConflict {
			t.Fatalf("%s: element %d of %d has status %d: %.300s", o.key, i, len(o.names), status, o.first.Body)
		}
	}
}

// afterDeletes deletes a device of each of the first requests and sends these again.
func afterDeletes(p *ledgetest.Node, t *testing.T, all []*once) {
	t.Helper()
	for _, o := range all[:min(30, len(all))] {
		if len(o.names) > 0 {
			p.Call(http.MethodDelete, p.Metadata+"/api/v2/device/name/"+o.names[0], "", "")
			again(p, t, o)
			if p.HasDevice(o.names[0]) {
				t.Errorf("%s is there again", o.names[0])
			}
		}
	}
}

// checkOnce holds that all that was asked for is on the log once, with the ids that were answered.
func checkOnce(t *testing.T, all []ledgetest.Fact, sent []*once) {
	t.Helper()
	found := map[string][]string{} // by what it is: ids
	for _, f := range all {
		var e struct {
			Device       struct{ ID, Name string }
			Notification struct{ ID, Content string }
		}
		_ = json.Unmarshal(f.Data, &e)
		switch f.Type {
		case "device.added/1":
			found["device "+e.Device.Name] = append(found["device "+e.Device.Name], e.Device.ID)
		case "notification.added/1":
			found["notification "+e.Notification.Content] = append(found["notification "+e.Notification.Content], e.Notification.ID)
		case "reading.posted/1":
			found["reading "+string(f.Data)] = append(found["reading "+string(f.Data)], "")
		}
	}
	want := func(what, id string) {
		if got := found[what]; len(got) != 1 || got[0] != id {
			t.Errorf("%s is on the log as %q, want once, as %q", what, got, id)
		}
	}
	for _, o := range sent {
		var items []struct{ ID string }
		_ = json.Unmarshal([]byte(o.first.Body), &items)
		for i, name := range o.names {
			want("device "+name, items[i].ID)
		}
		if o.notified != "" {
			want("notification "+o.notified, items[0].ID)
		}
		if o.reading != "" {
			want("reading "+o.reading, "")
		}
	}
}
