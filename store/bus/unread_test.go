package bus

import (
	"fmt"
	"strings"
	"testing"

	"ledge/domain"
	"ledge/store/storetest"
)

// TestUnreadBus holds that a bus without clients warns of no lag and, if it keeps no copies, publishes nothing. As soon as it can have
// readers, it warns.
func TestUnreadBus(t *testing.T) {
	t.Parallel()
	n := mustServe(t, Options{MaxBytes: 64 << 20})
	n.Close() // its copies do not move any more
	var batch []domain.Request
	for i := range mostLag + 1 {
		batch = append(batch, storetest.Add(fmt.Sprint("d", i)))
	}
	if _, err := n.events.Submit(t.Context(), batch...); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the copy lags", func() bool { return n.Stats()[0].Lag > mostLag })
	if list := n.Warnings(); len(list) > 0 {
		t.Errorf("without clients it warns: %q", list)
	}
	n.o.Hub = &Hub{}
	if list := n.Warnings(); len(list) != 1 || !strings.Contains(list[0], "LEDGE_EVENTS") {
		t.Errorf("in a cluster it warns: %q", list)
	}

	live := mustServe(t, Options{})
	_, conn := live.now()
	before := conn.Stats().OutMsgs
	storetest.MustSubmit(t, live.events, storetest.Add("a"))
	eventually(t, "the event is done with", func() bool { return live.Stats()[0].Lag == 0 })
	if n := conn.Stats().OutMsgs - before; n > 0 {
		t.Errorf("%d messages were published to nobody", n)
	}
}

// TestFirstMessage holds that a client hears no event from before its login, although the copies rest while no client is connected.
func TestFirstMessage(t *testing.T) {
	t.Parallel()
	n := mustServe(t, Options{MaxBytes: 64 << 20})
	for i := range 10 {
		for j := range 20 {
			storetest.MustSubmit(t, n.events, storetest.Add(fmt.Sprint("before", i, "-", j)))
		}
		nc, err := n.connect()
		if err != nil {
			t.Fatal(err)
		}
		heard, err := nc.SubscribeSync("ledge.>")
		if err == nil {
			err = nc.Flush()
		}
		if err != nil {
			t.Fatal(err)
		}
		name := fmt.Sprint("after", i)
		storetest.MustSubmit(t, n.events, storetest.Add(name))
		if m, err := heard.NextMsg(deadline); err != nil || !strings.Contains(string(m.Data), name) {
			t.Errorf("%d: the first message is %v, %v", i, m, err)
		}
		nc.Close()
		eventually(t, "it has left", func() bool { return n.Clients() == 0 })
	}
}
