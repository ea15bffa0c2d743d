package store

import (
	"bytes"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"ledge/store/osfile"
)

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
	link := linker{log: l, prev: before, seq: h.First - 1, known: true}
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
		r := &archiveReader{sealedReader: s, log: l}
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
	r, err := a.log.openArchive(filepath.Join(a.dir, file))
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
