package store

import (
	"bytes"
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"
	"unicode/utf8"

	"ledge/store/osfile"
)

// ArchiveHeader is the header of an archive: a range of events that left the log.
type ArchiveHeader struct {
	Format string `json:"format"`
	Stream string `json:"stream"`
	First  uint64 `json:"first"`
	Last   uint64 `json:"last"`
	// Before is the chain hash of the event before First, zeros for event 1; After is that of Last. Both in hex.
	Before string `json:"before"`
	After  string `json:"after"`
	// From and To are when the server stored First and Last.
	From time.Time `json:"from"`
	To   time.Time `json:"to"`
}

const (
	archiveFormat = "ledge.archive/1"
	archiveSuffix = ".archive"
)

func (h ArchiveHeader) statement() string {
	return fmt.Sprintf("%s %s %d %d %s %s", h.Format, h.Stream, h.First, h.Last, h.Before, h.After)
}

// Name returns the file name of the archive.
func (h ArchiveHeader) Name() string { return archiveName(h.Stream, h.First, h.Last) }

func archiveName(stream string, first, last uint64) string {
	return fmt.Sprintf("%s-%012d-%012d%s", stream, first, last, archiveSuffix)
}

// archiveSpan reads the sequences in an archive's file name.
func archiveSpan(stream, name string) (first, last uint64, ok bool) {
	if _, err := fmt.Sscanf(strings.TrimPrefix(name, stream), "-%d-%d"+archiveSuffix, &first, &last); err != nil {
		return 0, 0, false
	}
	return first, last, name == archiveName(stream, first, last) && first > 0 && last >= first
}

// archiveLine is a message in an archive. Data is the payload where that is UTF-8, Data64 where it is not.
type archiveLine struct {
	Seq     uint64            `json:"seq"`
	At      time.Time         `json:"at"`
	Subject string            `json:"subject"`
	Headers map[string]string `json:"headers"`
	Data    string            `json:"data,omitempty"`
	Data64  []byte            `json:"data64,omitempty"`
}

func lineOf(m Message) archiveLine {
	l := archiveLine{Seq: m.Seq, At: m.At, Subject: m.Subject, Headers: make(map[string]string, len(m.Header))}
	for _, f := range m.Header {
		l.Headers[f.Name] = f.Value
	}
	if utf8.Valid(m.Data) {
		l.Data = string(m.Data)
	} else {
		l.Data64 = m.Data
	}
	return l
}

func (l archiveLine) message() Message {
	m := Message{Seq: l.Seq, At: l.At, Subject: l.Subject, Data: l.Data64, Header: make(Header, 0, len(l.Headers))}
	if m.Data == nil {
		m.Data = []byte(l.Data)
	}
	for name, value := range l.Headers {
		m.Header = append(m.Header, Field{name, value})
	}
	m.Header.sort()
	return m
}

// archiveReader reads the messages of an archive, and verifies the chain from the event before the first.
type archiveReader struct {
	*sealedReader
	header ArchiveHeader
	log    *logReader // for its names
	link   linker
}

func openArchive(l *logReader, path string) (*archiveReader, error) {
	s, err := openSealed(path)
	if err != nil {
		return nil, err
	}
	r := &archiveReader{sealedReader: s, log: l}
	if err := r.begin(); err != nil {
		s.close()
		return nil, err
	}
	return r, nil
}

func (r *archiveReader) begin() error {
	if err := json.Unmarshal(r.head, &r.header); err != nil || r.header.Format != archiveFormat {
		return r.fault("it is of format %q, and this program reads %s", r.header.Format, archiveFormat)
	}
	h := r.header
	if h.Stream != r.log.name || h.First == 0 || h.Last < h.First {
		return r.fault("it is of %s %d to %d", h.Stream, h.First, h.Last)
	}
	before, ok := chainOf(h.Before)
	if _, after := chainOf(h.After); !ok || !after {
		return r.fault("its header has no chain hashes")
	}
	r.link = linker{stream: &r.log.stream, prev: before, seq: h.First - 1, known: true}
	return r.signature(h)
}

// next returns the next message; io.EOF after the last, when digest, signature and chain are verified.
func (r *archiveReader) next() (m Message, err error) {
	text, err := r.line()
	if errors.Is(err, io.EOF) {
		return m, r.finish()
	}
	if err != nil {
		return m, err
	}
	var l archiveLine
	if err := json.Unmarshal(text, &l); err != nil {
		return m, r.fault("after sequence %d is a line that does not decode as an event: %v", r.link.seq, err)
	}
	if m = l.message(); m.Seq != r.link.seq+1 {
		return m, r.fault("sequence %d comes after %d", m.Seq, r.link.seq)
	}
	if _, err := r.link.next(m); err != nil {
		return m, r.fault("sequence %d: %v", m.Seq, whatOf(err))
	}
	if err := r.log.filed(m); err != nil {
		return m, r.fault("sequence %d: %v", m.Seq, whatOf(err))
	}
	return m, nil
}

// whatOf is what a [Damage] says, without the cure of a damaged log.
func whatOf(err error) string {
	var d *Damage
	if errors.As(err, &d) {
		return d.What
	}
	return err.Error()
}

// finish checks that the archive ends as it says.
func (r *archiveReader) finish() error {
	if r.link.seq != r.header.Last || hex.EncodeToString(r.link.prev[:]) != r.header.After {
		return r.fault("it ends at %d with chain %x, and its header says %d with %s", r.link.seq, r.link.prev, r.header.Last, r.header.After)
	}
	if err := r.end(r.header); err != nil {
		return err
	}
	return io.EOF
}

// appendLine encodes a message as a line.
func appendLine(b *bytes.Buffer, m Message) error {
	enc := json.NewEncoder(b)
	enc.SetEscapeHTML(false)
	return enc.Encode(lineOf(m))
}

// archivePath is where an archive is.
func archivePath(dir string, h ArchiveHeader) string { return filepath.Join(dir, h.Name()) }

// Archive writes the live events up to a sequence into an archive file and verifies what it wrote. The events stay on the
// log: see [Log.DropArchived]. An archive of the same events is replaced. On an error nothing is left behind.
func (l *Log) Archive(ctx context.Context, last uint64, key *SigningKey) (ref ArchiveRef, err error) {
	first, before, known := l.begins()
	if !known {
		return ref, fmt.Errorf("archive: %s begins at %d, and the chain hash before that is not known", l.name, first)
	}
	if end, _ := l.Last(); last < first || last > end {
		return ref, fmt.Errorf("archive: %s has %d to %d, not up to %d", l.name, first, end, last)
	}
	h := ArchiveHeader{Format: archiveFormat, Stream: l.name, First: first, Last: last, Before: hex.EncodeToString(before[:])}
	begin, err := l.one(ctx, first)
	if err != nil {
		return ref, err
	}
	end, err := l.one(ctx, last)
	if err != nil {
		return ref, err
	}
	after, ok := chainIn(end.Header)
	if !ok {
		return ref, l.damage(last, "it has no readable %s", headerChain)
	}
	h.From, h.To, h.After = begin.At, end.At, hex.EncodeToString(after[:])
	if err := makeDir(l.archives.dir); err != nil {
		return ref, fmt.Errorf("archive: %w", err)
	}
	digest, err := l.writeArchive(ctx, h, key)
	if err != nil {
		return ref, fmt.Errorf("archive: %w", err)
	}
	ref = ArchiveRef{h.Name(), first, last, digest}
	l.archives.add(ref)
	return ref, nil
}

func (l *Log) writeArchive(ctx context.Context, h ArchiveHeader, key *SigningKey) (digest string, err error) {
	path := archivePath(l.archives.dir, h)
	w, err := createSealed(path, h, key)
	if err != nil {
		return "", err
	}
	before, _ := chainOf(h.Before)
	link := linker{stream: &l.stream, prev: before, seq: h.First - 1, known: true}
	var text bytes.Buffer
	for m, err := range l.ReadRaw(ctx, h.First, h.Last) {
		if err == nil {
			_, err = link.next(m)
		}
		if err == nil {
			text.Reset()
			if err = appendLine(&text, m); err == nil {
				_, err = w.Write(text.Bytes())
			}
		}
		if err != nil {
			w.abandon(err)
			return "", err
		}
	}
	return w.finish(func(s *sealedReader) error {
		r := &archiveReader{sealedReader: s, log: &l.logReader}
		if err := r.begin(); err != nil {
			return err
		}
		for ctx.Err() == nil {
			if _, err := r.next(); err != nil {
				return ignoreEOF(err)
			}
		}
		return ctx.Err()
	})
}

func ignoreEOF(err error) error {
	if errors.Is(err, io.EOF) {
		return nil
	}
	return err
}

// makeDir makes a folder and those above it, durably.
func makeDir(dir string) error {
	if info, err := os.Stat(dir); err == nil && info.IsDir() {
		return nil
	}
	parent := filepath.Dir(dir)
	if parent != dir {
		if err := makeDir(parent); err != nil {
			return err
		}
	}
	if err := os.Mkdir(dir, 0o700); err != nil && !os.IsExist(err) {
		return err
	}
	return osfile.SyncDir(parent)
}

// CheckArchive reads an archive of the folder to its end and verifies digest, signature, names and the chain.
func (a *Archives) CheckArchive(ctx context.Context, file string) (h ArchiveHeader, public string, err error) {
	r, err := openArchive(a.log, filepath.Join(a.dir, file))
	if err != nil {
		return h, "", err
	}
	defer r.close()
	for ctx.Err() == nil {
		m, err := r.next()
		if errors.Is(err, io.EOF) {
			return r.header, r.seal.PublicKey, nil
		}
		if err == nil {
			_, err = r.log.event(m)
		}
		if err != nil {
			return r.header, r.seal.PublicKey, err
		}
	}
	return h, "", ctx.Err()
}

// CheckFrom checks the archive from which an event is read, and returns the event behind its last.
func (a *Archives) CheckFrom(ctx context.Context, seq uint64) (next uint64, err error) {
	list, err := a.List()
	if err != nil {
		return seq, err
	}
	ref, ok := at(list, seq)
	if !ok {
		return seq, fmt.Errorf("archive: event %d is in none that is in %s", seq, a.dir)
	}
	_, _, err = a.CheckArchive(ctx, ref.File)
	return ref.Last + 1, err
}
