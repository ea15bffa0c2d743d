package bus

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"strings"

	"ledge/store"
	"ledge/store/natsblock"
)

// compare returns the difference between a copy in a folder and its log, or nil: every message of the copy must be that of the log at its
// sequence, without a hole. A copy that ends before the log is sound. The rest of a record that a power cut tore is cut off.
func (c *copier) compare(ctx context.Context, dir string) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	files := natsblock.FilesOf(dir)
	blocks, err := files.List()
	if err != nil {
		return err
	}
	shown, next := c.log.Visible(), uint64(0)
	var log *reader
	for _, n := range blocks {
		scan := natsblock.Scan{Files: files, Block: n, Prefix: prefix, Chunk: 1 << 20}
		for r, err := range scan.Records() {
			if bad, ok := errors.AsType[*natsblock.Bad](err); ok && bad.Cause == nil && bad.Next == 0 && n == blocks[len(blocks)-1] && next > 0 {
				if err := cutOff(files, bad); err != nil {
					return err
				}
				break
			}
			if err != nil {
				return err
			}
			if !r.IsMessage() {
				continue
			}
			seq := r.Seq()
			switch {
			case seq > shown:
				return fmt.Errorf("it has sequence %d, and the log ends at %d", seq, shown)
			case next > 0 && seq != next:
				return fmt.Errorf("it has sequence %d in place of %d", seq, next)
			}
			if next = seq + 1; seq < c.log.First() {
				continue // the log has removed it
			}
			if log == nil {
				log = readLog(ctx, c.log, seq, shown)
				defer log.stop()
			}
			if err := log.holds(r); err != nil {
				return err
			}
		}
	}
	if next > 0 && next < c.log.First() {
		return fmt.Errorf("it ends before sequence %d, with which the log begins", c.log.First())
	}
	return nil
}

// cutOff ends a block before a bad part, and removes the index, so that the server reads the blocks again.
func cutOff(files *natsblock.Files, bad *natsblock.Bad) error {
	if err := os.Truncate(files.Path(bad.Block), bad.Offset); err != nil {
		return err
	}
	if err := os.Remove(filepath.Join(files.Dir, "index.db")); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// reader reads a log message by message.
type reader struct {
	next  func() ([]store.Message, error, bool)
	stop  func()
	group []store.Message
}

func readLog(ctx context.Context, l *store.Log, from, to uint64) *reader {
	next, stop := iter.Pull2(l.Messages(ctx, from, to))
	return &reader{next: next, stop: stop}
}

// holds returns the difference between a record of the copy and the next message of the log, or nil.
func (d *reader) holds(r natsblock.Record) error {
	for len(d.group) == 0 {
		group, err, ok := d.next()
		if err != nil {
			return err
		}
		if !ok {
			return errors.New("the log ends before it")
		}
		d.group = group
	}
	m := d.group[0]
	d.group = d.group[1:]
	header, want := onBus(m)
	subject, text, data := r.Parts()
	if m.Seq != r.Seq() || m.Subject != string(subject) || !bytes.Equal(want, data) || !isCopied(m, header, string(text)) {
		return fmt.Errorf("sequence %d is another message than on the log", r.Seq())
	}
	return nil
}

// isCopied reports whether a block of headers is the one of a message on the bus, which has the headers want. Earlier versions copied
// events of core-data without ce-dataref, which is the last header.
func isCopied(m store.Message, want store.Header, text string) bool {
	return sameHeaders(want, text) ||
		len(m.Data) > valueMost && eventPath(m) != "" && sameHeaders(want[:len(want)-1], text)
}

// sameHeaders reports whether a block of headers has these and no others but the server's own.
func sameHeaders(want store.Header, text string) bool {
	n := 0
	for line := range strings.SplitSeq(text, "\r\n") {
		name, value, ok := strings.Cut(line, ":")
		if !ok || strings.HasPrefix(name, "Nats-") {
			continue
		}
		if n++; want.Get(name) != strings.TrimPrefix(value, " ") {
			return false
		}
	}
	return n == len(want)
}
