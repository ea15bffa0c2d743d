package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strings"
	"time"
	"unicode"

	"github.com/spf13/cobra"

	"ledge/cmd/internal/admin"
	"ledge/cmd/internal/cli"
	"ledge/cmd/internal/config"
	"ledge/cmd/internal/datadir"
	"ledge/cmd/internal/exit"
	"ledge/domain"
	"ledge/store"
)

// printer writes messages of the log, for people or as JSON lines.
type printer struct {
	w    io.Writer
	json bool
}

// notPrinted is what an interrupted log leaves.
const notPrinted = "not all of the log is printed; nothing is changed"

func newLog() *cobra.Command {
	var asJSON bool
	var filter logFilter
	c := &cobra.Command{
		Use:   "log",
		Short: "Print what is on the log, oldest first; -f prints what is recorded from now on",
		Long: `Print what is on the log, oldest first: time, stream and sequence, type, subject, actor, origin, and
what changed. Flags that choose messages can be combined. What is archived is printed too.

It works with and without a running server. -f needs one, and waits while it is away.
See docs/audit.md.`,
		Example: `  ledge log -f --device cam-1
  ledge log --since 7d --until 2026-11-21 --type 'device.*'`,
	}
	c.Flags().BoolVarP(&filter.follows, "follow", "f", false, "print what is recorded from now on")
	c.Flags().BoolVar(&asJSON, "json", false, "one JSON object a line, with the stream, and with the payload where it is JSON")
	filter.flags(c.Flags())
	return cli.WithSettings(c, func(ctx context.Context, c *cobra.Command, cfg *config.Config, _ map[string]string) error {
		if err := filter.check(c.Flags(), time.Now()); err != nil {
			return exit.With(exit.Usage, err)
		}
		l, err := openLedger(ctx, cfg)
		if err != nil {
			return cli.Interrupted(ctx, err, notPrinted)
		}
		l.skipGaps(c.ErrOrStderr())
		print := printer{c.OutOrStdout(), asJSON}.print
		defer l.close()
		if filter.follows && l.pid != "" {
			return followLog(ctx, c.ErrOrStderr(), cfg, l, &filter, print)
		}
		if filter.follows {
			return exit.With(exit.Usage, fmt.Errorf("log -f follows a running server, and none has the data folder %s; start one with `ledge serve`", cfg.DataDir))
		}
		return cli.Interrupted(ctx, l.history(ctx, &filter, print), notPrinted)
	})
}

// followLog prints until ctx ends, from one run of the server to the next.
func followLog(ctx context.Context, stderr io.Writer, c *config.Config, l *ledger, filter *logFilter, print func(store.Message) error) error {
	seen, err := l.place(ctx, filter)
	if err != nil {
		return cli.Interrupted(ctx, exit.WithDamage(err), notPrinted)
	}
	for {
		err := l.Follow(ctx, filter.from, seen, func(m store.Message) error {
			if filter.matches(m) {
				return print(m)
			}
			return nil
		})
		if !errors.Is(err, admin.ErrAway) {
			return exit.WithDamage(err)
		}
		fmt.Fprintf(stderr, "ledge: the server of %s is away: %v; waiting for it\n", c.DataDir, err)
		if !l.await(ctx) {
			return nil
		}
		fmt.Fprintf(stderr, "ledge: the server of %s is there again, as process %s\n", c.DataDir, datadir.Owner(c.DataDir))
	}
}

// serverAgain is the time between two looks for a server that is away.
const serverAgain = time.Second

// await returns when the server answers; false when ctx ends.
func (l *ledger) await(ctx context.Context) bool {
	look := time.NewTicker(serverAgain)
	defer look.Stop()
	for {
		select {
		case <-ctx.Done():
			return false
		case <-look.C:
		}
		if l.Refresh(ctx) == nil {
			return true
		}
	}
}

// place is what a follower has seen before its beginning; empty where it begins at --from.
func (l *ledger) place(ctx context.Context, filter *logFilter) (store.Place, error) {
	seen := store.Place{}
	if filter.fromGiven {
		return seen, nil
	}
	starts, err := filter.starts(ctx, l.Logs())
	for i, start := range starts {
		seen[l.Logs()[i].Name()] = start - 1
	}
	return seen, err
}

// history prints what the filter chooses of all streams, merged by time.
func (l *ledger) history(ctx context.Context, filter *logFilter, print func(store.Message) error) error {
	messages := store.Merge(ctx, l.Logs(), filter.from)
	if !filter.fromGiven {
		starts, err := filter.starts(ctx, l.Logs())
		if err != nil {
			return exit.WithDamage(err)
		}
		messages = store.MergeAt(ctx, l.Logs(), starts)
	}
	for m, err := range messages {
		if err == nil && filter.ends(m) {
			return nil
		}
		if err == nil && filter.matches(m) {
			err = print(m)
		}
		if err != nil {
			return exit.WithDamage(err)
		}
	}
	return nil
}

func (p printer) print(m store.Message) error {
	if p.json {
		return p.printJSON(m)
	}
	st, w := m.Stamp(), m.Wire()
	_, err := fmt.Fprintf(p.w, "%s  %s %d  %s  %s  by %s from %s%s\n", st.At.Format("2006-01-02T15:04:05.000Z07:00"),
		streamOf(m.Subject), m.Seq, w.Type, strings.Join(w.Subject, " "), st.Actor, st.Origin, detail(w))
	return err
}

// detail is what is worth a look at once: that an event is skipped, what it changed, or the size of a posted value, wherever it is.
func detail(w domain.Wire) string {
	if size := w.Ext["size"]; size != "" {
		return fmt.Sprintf("  %s, %s bytes", w.ContentType, size)
	}
	if reason := undecodable(w); reason != "" {
		return "  UNDECODABLE, skipped: " + reason
	}
	var e struct {
		Changed []string       `json:"changed"`
		Changes domain.Changes `json:"changes"`
	}
	if json.Unmarshal(w.Data, &e) != nil || len(e.Changed)+len(e.Changes) == 0 {
		return ""
	}
	if len(e.Changes) == 0 { // an event of an earlier version, without values
		return "  changed " + strings.Join(e.Changed, ", ")
	}
	return "  " + changesText(e.Changes)
}

const (
	// mostShown is how many changed values a line has, mostValueRunes how many characters of each.
	mostShown, mostValueRunes = 8, 60
)

// changesText is what has changed, such as adminState: UNLOCKED → LOCKED.
func changesText(changes domain.Changes) string {
	var texts []string
	more := 0
	for leaf := range changes.Leaves() {
		if len(texts) == mostShown {
			more++
			continue
		}
		texts = append(texts, shownText(leaf.Path)+": "+shownValue(leaf.Was)+" → "+shownValue(leaf.Is))
	}
	if more > 0 {
		texts = append(texts, fmt.Sprintf("and %d more", more))
	}
	return strings.Join(texts, ", ")
}

// shownValue is a JSON value in a line, a text without its quotes.
func shownValue(value json.RawMessage) string {
	var text string
	switch {
	case len(value) == 0:
		return "nothing"
	case json.Unmarshal(value, &text) == nil:
		return shownText(text)
	}
	return shownText(string(value))
}

// shownText is the beginning of a text, without characters that could steer a terminal.
func shownText(text string) string {
	var b strings.Builder
	n := 0
	for _, r := range text {
		if n++; n > mostValueRunes {
			return b.String() + "…"
		}
		if unicode.IsPrint(r) {
			b.WriteRune(r)
		} else {
			fmt.Fprintf(&b, `\u%04x`, r)
		}
	}
	return b.String()
}

func (p printer) printJSON(m store.Message) error {
	st, w := m.Stamp(), m.Wire()
	line := map[string]any{
		"stream": streamOf(m.Subject), "subject": m.Subject, "seq": m.Seq, "id": st.EventID, "type": w.Type, "time": st.At, "actor": st.Actor,
		"origin": st.Origin, "correlationId": st.CorrelationID, "contentType": w.ContentType, "size": len(w.Data),
	}
	if reason := undecodable(w); reason != "" {
		line["undecodable"] = reason
	}
	if st.Key != nil {
		line["idempotency"] = st.Key.String()
	}
	if len(w.Ext) > 0 {
		line["ext"] = w.Ext
	}
	if json.Valid(w.Data) {
		line["data"] = json.RawMessage(w.Data)
	}
	text, err := json.Marshal(line)
	if err == nil {
		_, err = fmt.Fprintln(p.w, unseen.ReplaceAllStringFunc(string(text), func(s string) string { return fmt.Sprintf(`\u%04x`, []rune(s)[0]) }))
	}
	return err
}

// unseen are characters that JSON leaves as they are and that steer a terminal: control characters, and those that turn the direction of text.
var unseen = regexp.MustCompile(`[\x{7f}-\x{9f}\x{202a}-\x{202e}]`)

// undecodable says why an event cannot be decoded and is skipped, "" where it can.
func undecodable(w domain.Wire) string {
	e, err := domain.DecodeStored(w)
	if u, ok := e.(domain.Undecodable); ok && err == nil {
		return u.Reason
	}
	return ""
}
