package store

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"slices"
	"strconv"
	"time"

	"ledge/domain"
	"ledge/store/natsblock"
	"ledge/store/osfile"

	"golang.org/x/time/rate"
)

// SalvageOptions configures [Salvage].
type SalvageOptions struct {
	// Drop returns why an event is to be left out, "" where it stays. It is asked about readings only.
	Drop func(domain.Event) string
	// NewID makes the ids of the events that stand in the place of lost ones, Now is their time.
	NewID  func() string
	Now    time.Time
	Logger *slog.Logger // of the server that writes
}

// Salvaged is what became of one stream.
type Salvaged struct {
	Stream string
	First  uint64 // of what was written; 0 for nothing
	Kept   uint64
	Lost   []Range // of the new log; sequence.lost stands there
	More   int     // ranges beyond mostFaults
	Total  uint64  // lost events
	Copied bool    // the blocks are copied as they are, and so is the chain
	Head   Chain
}

// Range is some sequences in a row that are lost.
type Range struct {
	From, To uint64
	Reason   string
}

// mostLost bounds how many events in a row can be replaced: the log never had a sequence beyond that.
const mostLost = 1 << 24

// Salvage writes the streams of the store's folder from, which all is about, into the new folder to; what is there is removed. A stream that
// is whole is copied, but for an unfinished write at its end. Of another one all whole events are appended to a new stream under their old
// sequences, times and headers, with [domain.SequenceLost] in the place of what is not whole; from the first of these on the chain is computed
// anew.
func Salvage(ctx context.Context, from, to string, all []Inspection, o SalvageOptions) ([]Salvaged, error) {
	if err := os.RemoveAll(to); err != nil {
		return nil, err
	}
	list := make([]Salvaged, len(streams))
	if err := appendWhole(ctx, from, to, all, o, list); err != nil {
		return nil, err
	}
	for i, st := range streams {
		if o.copies(st, &all[i]) {
			list[i] = Salvaged{Stream: st.name, First: all[i].First, Kept: all[i].Count, Copied: true, Head: all[i].Head}
			if err := copyBlocks(ctx, from, to, st, &all[i]); err != nil {
				return nil, fmt.Errorf("%s: %w", st.name, err)
			}
		}
		if err := syncTree(to, streamDir(to, st.name)); err != nil {
			return nil, err
		}
		if err := recordSalvaged(from, to, list[i], all[i].start); err != nil {
			return nil, err
		}
	}
	return list, osfile.SyncDir(to)
}

// copies reports whether a stream is copied as it is.
func (o SalvageOptions) copies(st stream, in *Inspection) bool {
	return blocksWhole(in.Faults) && (o.Drop == nil || st.name != streams[2].name)
}

// appendWhole appends the whole events of those streams that are not copied, if there are any. It stops the server that writes them before it
// returns.
func appendWhole(ctx context.Context, from, to string, all []Inspection, o SalvageOptions, list []Salvaged) error {
	pace := rate.NewLimiter(restoreRate, restoreBurst)
	r := restore{wait: func(bytes int) error { return pace.WaitN(ctx, bytes) }}
	for i, st := range streams {
		if o.copies(st, &all[i]) {
			continue
		}
		if r.node == nil {
			n, err := startNode(ctx, Options{Dir: to, Logger: o.Logger}.withDefaults())
			if err != nil {
				return err
			}
			defer n.close()
			r.node = n
		}
		var err error
		if list[i], err = salvageStream(ctx, from, r, st, &all[i], o); err != nil {
			return fmt.Errorf("%s: %w", st.name, err)
		}
	}
	return nil
}

// recordSalvaged puts on record where a log begins: where it began, or if that is not known with the first event that was written.
func recordSalvaged(from, to string, s Salvaged, known *logStart) error {
	start := logStart{First: max(s.First, 1)}
	switch _, err := readManifest(from, s.Stream); {
	case known != nil:
		start = *known
	case err == nil:
		return nil
	case !IsDamage(err):
		return err
	}
	made := &manifest{path: manifestPath(to, s.Stream), missing: true}
	return made.change(func(c *contents) { c.First, c.Node = start, nodeOf(from) })
}

// nodeOf returns the id that the manifest of the log of changes has, or "". A state that is copied beside the log has the same id.
func nodeOf(dir string) string {
	m, err := readManifest(dir, streams[0].name)
	if err != nil {
		return ""
	}
	return m.now.Node
}

// blocksWhole reports whether the log itself is whole.
func blocksWhole(list []Fault) bool {
	return !slices.ContainsFunc(list, func(f Fault) bool { return slices.Contains(Streams(), f.Stream) })
}

func salvageStream(ctx context.Context, from string, r restore, st stream, in *Inspection, o SalvageOptions) (Salvaged, error) {
	read := inspectorIn(from, st)
	_, err := readManifest(from, st.name)
	switch {
	case err == nil:
		read.start = in.start
	case !IsDamage(err):
		return Salvaged{}, err
	default:
		read.startUnknown = true
	}
	r.stream = st
	w := &salvage{
		restore: r, log: read.log, o: o, result: Salvaged{Stream: st.name}, last: in.Last, faults: in.Faults, at: 1,
	}
	read.begin()
	if read.start != nil {
		w.next, w.chain = read.start.First, read.start.chain()
	}
	if i := slices.IndexFunc(in.Faults, func(f Fault) bool { return f.Seq > 0 }); i >= 0 && read.start == nil && in.Faults[i].Seq < in.First {
		w.next = in.Faults[i].Seq
	}
	read.each = w.take
	if err := read.run(ctx); err != nil {
		return w.result, err
	}
	for _, f := range in.Faults { // of the end, or those who know of more
		w.last = max(w.last, f.Seq, f.To)
	}
	if w.next == 0 {
		w.next = w.last // nothing is left; one event says how far the log was
	}
	if w.last >= w.next && w.last > 0 && len(in.Faults) > 0 {
		if err := w.lose(w.last+1, ""); err != nil {
			return w.result, err
		}
	}
	w.result.First, w.result.Head = w.next-w.result.Kept-w.result.Total, w.chain
	return w.result, nil
}

// copyBlocks makes a stream of the blocks of a whole one, and leaves an unfinished write at the end away.
func copyBlocks(ctx context.Context, from, to string, st stream, in *Inspection) error {
	source, target := natsblock.FilesOf(streamDir(from, st.name)), natsblock.FilesOf(streamDir(to, st.name))
	if err := describeStream(to, st, time.Now()); err != nil {
		return err
	}
	all, err := source.List()
	for _, n := range all {
		size := int64(-1)
		if in.Torn != nil && n > in.Torn.Block {
			break
		}
		if in.Torn != nil && n == in.Torn.Block {
			size = in.Torn.Offset
		}
		if err = errors.Join(err, ctx.Err()); err != nil {
			return err
		}
		err = CopyFile(source.Path(n), target.Path(n), size)
	}
	return err
}

// CopyFile copies a file, or its first size bytes, to a new file, and fsyncs that, but not its folder. A negative size copies all.
func CopyFile(from, to string, size int64) error {
	source, err := osfile.Open(from, os.O_RDONLY, 0)
	if err != nil {
		return err
	}
	defer source.Close()
	target, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	if size < 0 {
		_, err = io.Copy(target, source)
	} else {
		_, err = io.CopyN(target, source, size)
	}
	return errors.Join(err, target.Sync(), target.Close())
}

// salvage writes one stream anew.
type salvage struct {
	restore
	log    *Log
	o      SalvageOptions
	result Salvaged
	faults []Fault

	next  uint64 // the sequence to write next; 0 before the first where any may come
	last  uint64
	chain Chain // of the event before
	since bool  // something was lost: the chain is another one
	at    int64 // when the last record was stored; 1 before the first, for the server takes 0 for no message
}

// take writes a whole event.
func (w *salvage) take(r Record) error {
	if r.Seq > w.last || r.Seq < w.next {
		return nil // of an unfinished write, or left from before the start
	}
	if w.next == 0 {
		w.next = r.Seq
	}
	reason := ""
	if w.o.Drop != nil {
		if e, err := w.log.event(r.Message); err == nil {
			reason = w.o.Drop(e)
		}
	}
	to := r.Seq
	if reason != "" {
		to++
	}
	if to > w.next {
		if err := w.lose(to, reason); err != nil || reason != "" {
			return err
		}
	}
	stored, _ := chainIn(r.Header)
	if w.since {
		stored = NextChain(w.chain, r.Seq, r.Header, r.Data)
		if err := setChain(r.Raw, r.Header, stored); err != nil {
			return fmt.Errorf("sequence %d: %w", r.Seq, err)
		}
	}
	record := natsblock.Record{Raw: r.Raw}
	w.chain, w.next, w.at = stored, r.Seq+1, record.Nanos()
	w.result.Kept++
	subject, headers, data := record.Parts()
	return w.write(r.Seq, w.at, string(subject), headers, data)
}

// lose writes events in the place of those up to a sequence, which is not among them.
func (w *salvage) lose(to uint64, reason string) error {
	if to-w.next > mostLost {
		return fmt.Errorf("%d events in a row are lost, and %d can be replaced", to-w.next, mostLost)
	}
	why := reason
	if why == "" {
		why = w.fault(w.next)
	}
	lost := Range{w.next, to - 1, why}
	for ; w.next < to; w.next++ {
		st := domain.Stamp{EventID: w.o.NewID(), At: w.o.Now, Actor: "ledge", Origin: "salvage"}
		e, err := w.log.entry(st, domain.SequenceLost{Reason: why}, w.next, w.chain)
		if err != nil {
			return err
		}
		if err := w.write(e.Seq, w.at, w.log.public+storedToken, groupHeaders(e), e.data); err != nil {
			return err
		}
		w.chain, w.since = e.Chain, true
	}
	w.result.Total += lost.To - lost.From + 1
	if len(w.result.Lost) < mostFaults {
		w.result.Lost = append(w.result.Lost, lost)
	} else {
		w.result.More++
	}
	return nil
}

// fault returns what was said of a sequence that is not whole.
func (w *salvage) fault(seq uint64) string {
	for _, f := range w.faults {
		if seq >= f.Seq && seq <= max(f.To, f.Seq) {
			return f.What
		}
	}
	return "it is not whole"
}

// groupHeaders returns the headers of an event that begins a group.
func groupHeaders(e entry) []byte {
	h := "NATS/1.0\r\n"
	for _, f := range append(e.header, Field{headerFence, "0" + strconv.FormatUint(e.Seq-1, 10)}) {
		h += f.Name + ": " + f.Value + "\r\n"
	}
	return []byte(h + "\r\n")
}

// setChain puts another chain hash into a record, which takes as much room.
func setChain(r []byte, h Header, c Chain) error {
	line, old := "\r\n"+headerChain+": ", h.Get(headerChain)
	text := chainText(c, isShortChain(old))
	at := bytes.Index(r, []byte(line+old+"\r\n"))
	if at < 0 || len(text) != len(old) {
		return fmt.Errorf("its %s cannot be replaced", headerChain)
	}
	copy(r[at+len(line):], text)
	return nil
}
