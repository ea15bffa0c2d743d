package main

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
)

// once is a request with a key, and its first answer, where there was one.
type once struct {
	url               func(p *process) string
	key, contentType  string
	body              string
	first             answer
	names             []string // of the devices that it adds; the last of them once more at its end
	reading, notified string   // the value that it posts, the content of the notification
}

func (o *once) send(p *process) (answer, error) {
	req, err := http.NewRequest(http.MethodPost, o.url(p), strings.NewReader(o.body))
	if err != nil {
		return answer{}, err
	}
	req.Header.Set("Content-Type", o.contentType)
	req.Header.Set("Idempotency-Key", o.key)
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return answer{}, err
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	return answer{resp.StatusCode, string(b), resp.Header}, err
}

func devicesOnce(key string, n int) *once {
	o := &once{key: key, contentType: "application/json", url: func(p *process) string { return p.metadata + "/api/v2/device" }}
	var elements []string
	for i := range n {
		o.names = append(o.names, fmt.Sprintf("%s-%d", key, i))
		elements = append(elements, deviceJSON(o.names[i]))
	}
	o.body = "[" + strings.Join(append(elements, elements[n-1]), ",") + "]"
	return o
}

var readingsOnce atomic.Int64

func readingOnce(key string) *once {
	value := fmt.Sprint(readingsOnce.Add(1))
	return &once{
		key: key, contentType: "text/plain", body: value, reading: value,
		url: func(p *process) string { return p.deviceREST + "/api/v2/resource/sample-numeric/int" },
	}
}

func notificationOnce(key string) *once {
	return &once{
		key: key, contentType: "application/json", notified: key, url: func(p *process) string { return p.notifications + "/api/v2/notification" },
		body: `[{"apiVersion":"v2","notification":{"category":"c","content":"` + key + `","sender":"me","severity":"NORMAL"}}]`,
	}
}

// work sends small requests until the process is gone.
func (p *process) work(client string) (sent []*once) {
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
			o.first = answer{}
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
	p := start(t, dir)
	for round := 0; round < rounds || partial == 0 && round < 10*rounds; round++ {
		added := p.tapSubscribe(t, "ledge.event.device.*.added")
		big := devicesOnce(fmt.Sprintf("big-%d", round), 3500)
		sent := [][]*once{{big}, nil, nil}
		var wg sync.WaitGroup
		for i := range sent[1:] {
			wg.Go(func() { sent[i+1] = p.work(fmt.Sprintf("small-%d-%d", round, i)) })
		}
		wg.Go(func() {
			if a, err := big.send(p); err == nil {
				big.first = a
			}
		})
		for !strings.Contains(added.next(t).Subject, "."+big.key+"-") {
		}
		p.kill()
		wg.Wait()
		p = start(t, dir)
		if p.hasDevice(big.names[0]) && !p.hasDevice(big.names[len(big.names)-1]) {
			partial++
		}
		requests := slices.Concat(sent...)
		for _, o := range requests {
			p.again(t, o)
		}
		all = append(all, requests...)
	}
	p.afterDeletes(t, all)
	if code := p.stop(); code != exit.OK {
		t.Errorf("exit code %d at the end", code)
	}
	verify(t, dir)
	checkOnce(t, facts(t, dir), all)
	if partial == 0 {
		t.Errorf("no kill of %d was between the elements of a request", rounds)
	}
	t.Logf("%d requests, %d of %d kills between the elements of the large one", len(all), partial, rounds)
}

func (p *process) hasDevice(name string) bool {
	p.tb.Helper()
	return p.call(http.MethodGet, p.metadata+"/api/v2/device/name/"+name, "", "").status == http.StatusOK
}

// again sends o twice at once.
func (p *process) again(t *testing.T, o *once) {
	t.Helper()
	var got [2]answer
	var errs [2]error
	var wg sync.WaitGroup
	for i := range got {
		wg.Go(func() { got[i], errs[i] = o.send(p) })
	}
	wg.Wait()
	if errs[0] != nil || errs[1] != nil {
		t.Fatalf("%s: %v, %v\n%s", o.key, errs[0], errs[1], p.log)
	}
	if o.first.status == 0 {
		o.first = got[0]
	}
	for _, a := range got {
		if a.status != o.first.status || a.body != o.first.body {
			t.Fatalf("%s: got %d %.300s, want %d %.300s", o.key, a.status, a.body, o.first.status, o.first.body)
		}
	}
	if len(o.names) == 0 {
		return
	}
	for i, status := range statuses(o.first) {
		if (status == http.StatusCreated) != (i < len(o.names)) || i == len(o.names) && status != http.StatusConflict {
			t.Fatalf("%s: element %d of %d has status %d: %.300s", o.key, i, len(o.names), status, o.first.body)
		}
	}
}

// afterDeletes deletes a device of each of the first requests and sends these again.
func (p *process) afterDeletes(t *testing.T, all []*once) {
	t.Helper()
	for _, o := range all[:min(30, len(all))] {
		if len(o.names) > 0 {
			p.call(http.MethodDelete, p.metadata+"/api/v2/device/name/"+o.names[0], "", "")
			p.again(t, o)
			if p.hasDevice(o.names[0]) {
				t.Errorf("%s is there again", o.names[0])
			}
		}
	}
}

// checkOnce holds that all that was asked for is on the log once, with the ids that were answered.
func checkOnce(t *testing.T, all []fact, sent []*once) {
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
		_ = json.Unmarshal([]byte(o.first.body), &items)
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
