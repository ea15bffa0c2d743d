// Pictures saves every picture that is posted as <folder>/<device>/<reading's id>.<kind>: first those on record, then
// each as it comes. <folder>/next has the sequence to go on from, after a restart of this program or of Ledge.
//
// usage: go run ./docs/tour/pictures folder [nats://127.0.0.1:4222 [http://127.0.0.1:59880]]
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
)

const wait = 10 * time.Second

type consumer struct {
	folder, tap, data string
	next              uint64
}

func main() {
	if len(os.Args) < 2 {
		log.Fatal("usage: pictures folder [nats://127.0.0.1:4222 [http://127.0.0.1:59880]]")
	}
	c := &consumer{folder: os.Args[1], tap: nats.DefaultURL, data: "http://127.0.0.1:59880", next: 1}
	if len(os.Args) > 2 {
		c.tap = os.Args[2]
	}
	if len(os.Args) > 3 {
		c.data = os.Args[3]
	}
	if err := os.MkdirAll(c.folder, 0o755); err != nil {
		log.Fatal(err)
	}
	if text, err := os.ReadFile(c.place()); err == nil {
		if c.next, err = strconv.ParseUint(string(text), 10, 64); err != nil {
			log.Fatalf("%s: %v", c.place(), err)
		}
	}
	again := time.NewTicker(time.Second)
	for ; ; <-again.C {
		log.Printf("%v; trying again", c.follow()) // whatever it was, the place says where to go on
	}
}

func (c *consumer) place() string { return filepath.Join(c.folder, "next") }

// follow takes what is on record and then what comes, until something fails.
func (c *consumer) follow() error {
	live, err := nats.Connect(c.tap, nats.NoReconnect())
	if err != nil {
		return err
	}
	defer live.Close()
	history, err := nats.Connect(c.tap, nats.NoReconnect(), nats.UserInfo("history", "history"))
	if err != nil {
		return err
	}
	defer history.Close()
	sub, err := live.SubscribeSync("ledge.reading.>") // first of all: what happens from now on is not missed
	if err != nil {
		return err
	}
	if err := live.FlushTimeout(wait); err != nil {
		return err
	}
	last, err := end(history)
	if err == nil && c.next > last+1 {
		err = fmt.Errorf("%s says %d, but the log ends at %d: it is another one", c.place(), c.next, last)
	}
	if err == nil {
		err = c.catchUp(history, last)
	}
	if err != nil {
		return err
	}
	log.Print("up to date")
	for {
		m, err := sub.NextMsgWithContext(context.Background())
		if errors.Is(err, nats.ErrSlowConsumer) {
			continue // what did not fit is a gap before the next
		}
		if err == nil {
			err = c.catchUp(history, sequence(m)-1)
		}
		if err == nil && sequence(m) >= c.next { // else catching up has had it
			err = c.take(m)
		}
		if err != nil {
			return err
		}
	}
}

// end is the last sequence of the readings that is on disk and visible.
func end(history *nats.Conn) (uint64, error) {
	m, err := history.Request("ledge.info", nil, wait)
	if err != nil {
		return 0, err
	}
	var streams map[string]struct{ Last uint64 }
	err = json.Unmarshal(m.Data, &streams)
	return streams["LEDGE_READINGS"].Last, err
}

// catchUp takes from history what is missing up to a sequence. Some of it may be kept no more.
func (c *consumer) catchUp(history *nats.Conn, to uint64) error {
	for c.next <= to {
		from := fmt.Appendf(nil, `{"seq":%d,"next_by_subj":">"}`, c.next)
		m, err := history.Request("$JS.API.DIRECT.GET.LEDGE_READINGS", from, wait)
		if err != nil {
			return err
		}
		if m.Header.Get("Status") == "404" || sequence(m) > to {
			return c.goOn(to + 1)
		}
		if err := c.take(m); err != nil {
			return err
		}
	}
	return nil
}

func sequence(m *nats.Msg) uint64 {
	n, _ := strconv.ParseUint(m.Header.Get("Nats-Sequence"), 10, 64)
	return n
}

func (c *consumer) take(m *nats.Msg) error {
	all, err := pictures(m)
	if err != nil {
		return fmt.Errorf("sequence %d: %w", sequence(m), err)
	}
	for _, p := range all {
		if err := c.save(p); err != nil {
			return err
		}
	}
	return c.goOn(sequence(m) + 1)
}

func (c *consumer) goOn(next uint64) error {
	c.next = next
	whole := c.place() + ".new"
	if err := os.WriteFile(whole, strconv.AppendUint(nil, next, 10), 0o600); err != nil {
		return err
	}
	return os.Rename(whole, c.place())
}

// pictures are the values of a message, as event.added/1 has them. Ref is where core-data has a large one.
func pictures(m *nats.Msg) ([]picture, error) {
	switch m.Header.Get("ce-type") {
	case "reading.posted/1":
		size, err := strconv.ParseInt(m.Header.Get("ce-size"), 10, 64)
		subject := strings.Split(m.Header.Get("ce-subject"), "/") // profile, device, resource
		return []picture{{
			ID: m.Header.Get("ce-readingid"), Device: subject[1], MediaType: m.Header.Get("content-type"), Size: size,
			Data: m.Data, Digest: m.Header.Get("ce-digest"), Ref: m.Header.Get("ce-dataref"),
		}}, err
	case "event.added/1":
		var event struct{ Readings []picture }
		err := json.Unmarshal(m.Data, &event)
		for i, p := range event.Readings {
			event.Readings[i].Ref = "/api/v2/reading/id/" + p.ID + "/binary"
		}
		return event.Readings, err
	}
	return nil, nil
}
