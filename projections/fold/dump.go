package fold

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
)

// line is one line of a dump.
type line struct {
	Checkpoint *uint64 `json:"checkpoint,omitempty"`
	Chain      string  `json:"chain,omitempty"`
	Table      string  `json:"table,omitempty"`
	Index      string  `json:"index,omitempty"`
	Counter    string  `json:"counter,omitempty"`
	At         string  `json:"at,omitempty"`
	Key        string  `json:"key,omitempty"`
	Seq        uint64  `json:"seq,omitempty"`
	Time       int64   `json:"time,omitempty"`
	Count      int64   `json:"count,omitempty"`
	Bucket     uint64  `json:"bucket,omitempty"`
	Weight     int64   `json:"weight,omitempty"`
	Raw        string  `json:"raw,omitempty"`
	Value      any     `json:"value,omitempty"`
}

// Dump writes everything that was applied as the file says it, one line of JSON for each row, index entry and counter, in the order of
// their keys. Two projections of the same events have the same dump, however the events came.
func (d *DB) Dump(w io.Writer) error {
	v, release := d.View()
	defer release()
	if err := v.flushed(); err != nil {
		return err
	}
	out := bufio.NewWriter(w)
	enc := json.NewEncoder(out)
	err := guarded(func() error {
		c := v.rows.Cursor()
		for key, value := c.First(); key != nil; key, value = c.Next() {
			if err := d.dump(enc, key, unseal(key, value)); err != nil {
				return fmt.Errorf("dump %x: %w", key, err)
			}
		}
		return nil
	})
	if err := d.noteDamage(err); err != nil {
		return err
	}
	return out.Flush()
}

// dump writes the line of a key.
func (d *DB) dump(out *json.Encoder, key, value []byte) error {
	l, err := d.line(key, value)
	if err != nil {
		return err
	}
	return out.Encode(l)
}

func (d *DB) line(key, value []byte) (line, error) {
	switch {
	case bytes.Equal(key, checkpointKey):
		seq := binary.BigEndian.Uint64(value)
		return line{Checkpoint: &seq, Chain: hex.EncodeToString(value[8:])}, nil
	case bytes.Equal(key, keysKey):
		return line{Counter: "keys", Count: int64(binary.BigEndian.Uint64(value))}, nil
	case key[0] == bucketID:
		prefix, bucket, err := splitKey(key[1:])
		if err != nil || len(bucket) != 8 {
			return line{}, fmt.Errorf("counter of no bucket")
		}
		return line{Counter: d.indexName(prefix[0]), At: string(prefix[3:]), Bucket: binary.BigEndian.Uint64(bucket), Count: readTally(value).count}, nil
	case key[0] >= FirstIndex:
		return d.entry(key, value)
	case key[0] == countID:
		n := readTally(value)
		return line{Counter: d.indexName(key[1]), At: string(key[2:]), Count: n.count, Weight: n.weight}, nil
	}
	if t := d.table(key[0]); t != nil {
		return t.describe(key, value)
	}
	return line{}, fmt.Errorf("no table has this key")
}

func (d *DB) entry(key, value []byte) (line, error) {
	prefix, suffix, err := splitKey(key)
	if err != nil || len(suffix) < suffixHead {
		return line{}, fmt.Errorf("entry of an index is cut")
	}
	return line{
		Index: d.indexName(prefix[0]), At: string(prefix[3:]), Time: timeOf(suffix), Seq: seqOf(suffix),
		Key: NameIn(suffix[suffixHead:]), Raw: hex.EncodeToString(value),
	}, nil
}

func (d *DB) indexName(id byte) string {
	for _, t := range d.tables {
		if name, ok := t.indexName(id); ok {
			return name
		}
	}
	return fmt.Sprintf("0x%02x", id)
}

// describe returns the line of a row. It has the bytes too: two encodings of one value are a difference.
func (t *Table[S]) describe(key, value []byte) (line, error) {
	s, seq, err := t.parse(key[1:], value)
	return line{Table: t.Name, Key: NameIn(key[1:]), Seq: seq, Value: s, Raw: hex.EncodeToString(value)}, err
}
