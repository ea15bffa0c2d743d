package store

import (
	"bytes"
	"context"
	"crypto/sha256"
	"fmt"
	"slices"
	"time"

	"ledge/domain"
	"ledge/store/natsblock"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
)

// OnSync calls f with each block file, its size when it was synced, and with each folder of blocks (size -1), after the sync.
func (l *Log) OnSync(f func(path string, size int64)) {
	file, folder := l.blocks.SyncFile, l.blocks.SyncFolder
	l.blocks.SyncFile = func(path string) (int64, error) {
		size, err := file(path)
		f(path, size)
		return size, err
	}
	l.blocks.SyncFolder = func(path string) error {
		err := folder(path)
		f(path, -1)
		return err
	}
}

// BlockFolder is the folder of the log's blocks.
func (l *Log) BlockFolder() string { return l.blocks.Dir }

// ExpireBefore moves the start of the log to a sequence, wherever in a block that is.
func (l *Log) ExpireBefore(ctx context.Context, seq uint64) error { return l.moveStart(ctx, seq) }

// RecordFront puts a new start on record and removes nothing, as a purge that fails leaves it.
func (l *Log) RecordFront(seq uint64) error {
	l.setFirst(seq)
	return l.manifest.change(func(c *contents) {
		c.First = logStart{First: seq}
		c.Segments = slices.DeleteFunc(c.Segments, func(s segment) bool { return s.Last < seq })
	})
}

// Compress has the server compress the log's blocks from now on, all but the last one.
func (l *Log) Compress(ctx context.Context) error {
	c := streamConfig(l.stream)
	c.Compression = server.S2Compression
	_, err := callStream(ctx, l.store.node.write, "UPDATE", l.name, c)
	return err
}

// WithLayout has a start look for the blocks of its self-test in another folder, as if the server's layout had changed.
func WithLayout(o Options, dir string) Options {
	o.streamDir = func(string, string) string { return dir }
	return o
}

// ErrLayout is the error of a start that finds another layout.
var ErrLayout = natsblock.ErrLayout

// Chained exposes the hash.
var Chained = NextChain

// AppendWire appends an event as it is encoded, whether it can be decoded or not. No appender may be open.
func (l *Log) AppendWire(st domain.Stamp, w domain.Wire) error {
	seq, chain := l.Last()
	e, err := l.seal(st, domain.Undecodable{}, w, seq+1, chain)
	if err != nil {
		return err
	}
	g := l.writer.begin(1)
	g.send(e)
	_, err = g.end()
	return err
}

// Intrude publishes to the log past its appender.
func (l *Log) Intrude(subject string) error {
	_, err := l.store.node.write.Request(l.ingest+subject, []byte("intruder"), apiWait)
	return err
}

// Waiting returns the number of submissions that wait.
func (a *Appender) Waiting() int {
	a.queue.mu.Lock()
	defer a.queue.mu.Unlock()
	return len(a.queue.waiting)
}

// RoomAwaited reports whether somebody waits for room: only then the queue refuses nothing at all.
func (a *Appender) RoomAwaited() bool {
	return !a.queue.requests.TryAcquire(0) || !a.queue.bytes.TryAcquire(0)
}

// FailSyncs has every sync of a block file fail from now on.
func (l *Log) FailSyncs(err error) {
	l.blocks.SyncFile = func(string) (int64, error) { return 0, err }
}

// FailSync has the next sync of a block file fail, and those after it succeed, as Linux does.
func (l *Log) FailSync(err error) {
	file := l.blocks.SyncFile
	l.blocks.SyncFile = func(string) (int64, error) {
		l.blocks.SyncFile = file
		return 0, err
	}
}

// FailFolderSync has the next sync of the folder of blocks fail, and those after it succeed.
func (l *Log) FailFolderSync(err error) {
	folder := l.blocks.SyncFolder
	l.blocks.SyncFolder = func(string) error {
		l.blocks.SyncFolder = folder
		return err
	}
}

// GroupAt returns what is in memory for followers from a sequence on, of a group with these sequences.
func GroupAt(from uint64, seqs ...uint64) (got []uint64) {
	r := newRecent(0, 100, 1<<20, seqOf)
	var group []domain.Recorded
	for _, seq := range seqs {
		group = append(group, domain.Recorded{Seq: seq})
	}
	r.add(group, 1)
	found, _, _, _ := r.from(from)
	for _, one := range found {
		got = append(got, one.Seq)
	}
	return got
}

func seqOf(r *domain.Recorded) uint64 { return r.Seq }

// MarkGroups returns a block in which just the records of these events say that they begin a group, as an appender writes it.
func MarkGroups(text []byte, stream string, n uint32, seqs ...uint64) []byte {
	return rewritten(text, stream, n, func(r natsblock.Record) []byte {
		subject, headers, data := r.Parts()
		seq := r.Seq()
		plain, marked := fmt.Sprint(headerFence, ": ", seq-1, "\r"), fmt.Sprint(headerFence, ": 0", seq-1, "\r")
		headers = bytes.Replace(headers, []byte(marked), []byte(plain), 1)
		if slices.Contains(seqs, seq) {
			headers = bytes.Replace(headers, []byte(plain), []byte(marked), 1)
		}
		return natsblock.Encode(seq, r.Nanos(), string(subject), headers, data)
	})
}

// EarlierForm returns a block with its events as earlier versions stored them: under their public subjects, without ce-subject.
func EarlierForm(text []byte, stream string, n uint32) []byte {
	return rewritten(text, stream, n, func(r natsblock.Record) []byte {
		subject, headers, data := r.Parts()
		about := aboutIn(headers)
		headers = bytes.Replace(headers, []byte("\r\n"+headerSubject+": "+about+"\r\n"), []byte("\r\n"), 1)
		return natsblock.Encode(r.Seq(), r.Nanos(), publicSubject(string(subject), about), headers, data)
	})
}

// rewritten returns a block with other records in the place of its own.
func rewritten(text []byte, stream string, n uint32, change func(natsblock.Record) []byte) (out []byte) {
	sum := natsblock.ChecksumOf(stream, n)
	for len(text) > 0 {
		raw, ok := sum.Whole(text)
		if !ok {
			panic("the block is not whole")
		}
		text = text[len(raw):]
		r := change(natsblock.Record{Raw: raw})
		sum.Seal(r)
		out = append(out, r...)
	}
	return out
}

// FrontsText is what fronts.json holds.
func FrontsText(stream string, first uint64, chain string) string {
	list := fmt.Sprintf(`{%q:{"first":%d,"chain":%q}}`, stream, first, chain)
	return fmt.Sprintf("{\"fronts\": %s, \"sum\": \"%x\"}", list, sha256.Sum256([]byte(list)))
}

// DelayAcks has what the server acknowledges arrive late, in order, or, where drop says so of the end of its subject, never.
func (l *Log) DelayAcks(by time.Duration, drop func(subject string) bool) {
	in, out := l.writer.acks, make(chan *nats.Msg, cap(l.writer.acks))
	l.writer.acks = out
	go func() {
		for m := range in {
			time.Sleep(by)
			if !drop(m.Subject) {
				out <- m
			}
		}
	}()
}

// ServerConn is the connection to JetStream itself.
func (s *Store) ServerConn() *nats.Conn { return s.node.write }

// ErrSealed is in the chain of errors for a file that is not as it was sealed.
var ErrSealed = errSealed

// Dir is the folder of the store.
func (s *Store) Dir() string { return s.o.Dir }

// Ask is an [Ask] of a server in the same process.
func (s *Store) Ask(ctx context.Context, after Place) (map[string]Info, error) {
	if after == nil {
		return s.Info(), nil
	}
	return s.InfoAfter(ctx, after), nil
}

// Awaited reports whether something waits for a log to go on.
func (s *Store) Awaited() bool {
	s.shown.mu.Lock()
	defer s.shown.mu.Unlock()
	return s.shown.more != nil
}

// Restart starts the server again, as after a failed write.
func (s *Store) Restart(ctx context.Context) error { return s.node.restart(ctx, s.o) }

// SameRecords checks a copy of the first block file of a log in a folder of copies, as a start does, against what the file had.
func SameRecords(l *Log, dir string, last uint64, size int64) error {
	r := &recovery{log: l}
	k := recovered{natsblock.Block{Number: 1, Last: last}, size, -1}
	return r.sameRecords(k, &natsblock.Files{Dir: dir, Stream: l.name})
}

// ShiftOffsets makes all offsets of messages that the log remembers wrong. It returns their number.
func (l *Log) ShiftOffsets() (n int) {
	for _, list := range l.offsets.of {
		for i := range list {
			list[i].at += 7
			n++
		}
	}
	return n
}
