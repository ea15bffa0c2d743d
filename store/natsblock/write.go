package natsblock

import (
	"errors"
	"os"
)

// Writer writes the blocks of a stream as the server does, from 1.blk on. It is for new folders that no server has.
type Writer struct {
	*Files
	number uint32
	file   *os.File
	size   int
	sum    Checksum
}

// Write seals a record for its block and writes it.
func (w *Writer) Write(raw []byte) error {
	if w.file == nil || w.size+len(raw) > BlockSize {
		if err := w.begin(); err != nil {
			return err
		}
	}
	w.sum.Seal(raw)
	w.size += len(raw)
	_, err := w.file.Write(raw)
	return err
}

func (w *Writer) begin() (err error) {
	if err := w.Close(); err != nil {
		return err
	}
	w.number++
	w.size, w.sum = 0, ChecksumOf(w.Stream, w.number)
	w.file, err = os.OpenFile(w.Path(w.number), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	return err
}

// Close makes the last block durable, but not the folder.
func (w *Writer) Close() error {
	if w.file == nil {
		return nil
	}
	err := errors.Join(w.file.Sync(), w.file.Close())
	w.file = nil
	return err
}
