package store

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"strconv"
)

// blockSize is how large a block becomes before the next is begun.
const blockSize = 8 << 20

// blockWriter writes the blocks of a stream as the server does, from 1.blk on. It is for new folders that no server has.
type blockWriter struct {
	blocks *blocks
	number uint32
	file   *os.File
	size   int
	sum    checksum
}

// write seals a record for its block and writes it.
func (w *blockWriter) write(r []byte) error {
	if w.file == nil || w.size+len(r) > blockSize {
		if err := w.begin(); err != nil {
			return err
		}
	}
	w.sum.seal(r)
	w.size += len(r)
	_, err := w.file.Write(r)
	return err
}

func (w *blockWriter) begin() (err error) {
	if err := w.close(); err != nil {
		return err
	}
	w.number++
	w.size, w.sum = 0, w.blocks.checksum(w.number)
	w.file, err = os.OpenFile(w.blocks.path(w.number), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	return err
}

func (w *blockWriter) close() error {
	if w.file == nil {
		return nil
	}
	err := errors.Join(w.file.Sync(), w.file.Close())
	w.file = nil
	return err
}

// encodeRecord returns the record of an event that begins a group, stored at a time in nanoseconds; write seals it.
func encodeRecord(public string, e entry, at int64) []byte {
	subject := public + storedToken
	h := "NATS/1.0\r\n"
	for _, f := range append(e.header, Field{headerFence, "0" + strconv.FormatUint(e.Seq-1, 10)}) {
		h += f.Name + ": " + f.Value + "\r\n"
	}
	h += "\r\n"
	n := recordHead + len(subject) + 4 + len(h) + len(e.data) + recordSum
	r := make([]byte, recordHead, n)
	binary.LittleEndian.PutUint32(r, uint32(n)|headersBit)
	binary.LittleEndian.PutUint64(r[4:], e.Seq)
	binary.LittleEndian.PutUint64(r[12:], uint64(at))
	binary.LittleEndian.PutUint16(r[20:], uint16(len(subject)))
	r = append(r, subject...)
	r = binary.LittleEndian.AppendUint32(r, uint32(len(h)))
	r = append(r, h...)
	r = append(r, e.data...)
	return append(r, make([]byte, recordSum)...)
}

// setChain puts another chain hash into a record, which takes as much room.
func setChain(r []byte, h Header, c Chain) error {
	line, old := "\r\n"+headerChain+": ", h.Get(headerChain)
	text := chainText(c, isShortChain(old))
	at := bytes.Index(r[recordHead:], []byte(line+old+"\r\n"))
	if at < 0 || len(text) != len(old) {
		return fmt.Errorf("its %s cannot be replaced", headerChain)
	}
	copy(r[recordHead+at+len(line):], text)
	return nil
}
