package store_test

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"ledge/domain"
	"ledge/store"
	"ledge/store/storetest"
)

// TestTailIsCopied has the block files of the last group be other files after a stop that was not clean, with the same bytes, and only those. What
// a crash left of a copy is in nobody's way.
func TestTailIsCopied(t *testing.T) {
	for name, tt := range map[string]struct {
		sizes []int // of groups of one event
		last  []int // of the events of the last group
		clean bool
		want  []bool // which blocks are other files
	}{
		"last group in the last block": {sizes: []int{5 << 20, 5 << 20, 1}, last: []int{1, 1}, want: []bool{false, true}},
		"last group in two blocks":     {sizes: []int{5 << 20}, last: []int{1 << 20, 3 << 20}, want: []bool{true, true}},
		"one block":                    {last: []int{1}, want: []bool{true}},
		"clean stop":                   {sizes: []int{5 << 20, 5 << 20}, last: []int{1}, clean: true, want: []bool{false, false}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := options(t.TempDir())
			s := mustOpen(t, o)
			a := storetest.MustAppender(t, s.Readings(), storetest.NewProjection())
			for _, size := range tt.sizes {
				storetest.MustSubmit(t, a, storetest.Post("d", make([]byte, size)))
			}
			var group []domain.Request
			for _, size := range tt.last {
				group = append(group, storetest.Post("d", make([]byte, size)))
			}
			storetest.MustSubmit(t, a, group...)
			_ = a.Close()
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
			if !tt.clean {
				storetest.ForgetStop(t, o.Dir)
			}
			left := filepath.Join(filepath.Dir(filepath.Dir(readingsBlock(o.Dir))), "copy")
			if err := os.MkdirAll(left, 0o700); err != nil {
				t.Fatal(err)
			}
			mustWrite(t, filepath.Join(left, "1.blk"), []byte("of a crash"))
			before, texts := readingsFiles(t, o.Dir), files(t, o.Dir)
			s = mustOpen(t, o)
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
			var other []bool
			for i, st := range readingsFiles(t, o.Dir) {
				other = append(other, !os.SameFile(st, before[i]))
				if st.Mode() != before[i].Mode() {
					t.Errorf("%s has the mode %v, and had %v", st.Name(), st.Mode(), before[i].Mode())
				}
			}
			if !slices.Equal(other, tt.want) {
				t.Errorf("other files: %v, want %v", other, tt.want)
			}
			for name, text := range files(t, o.Dir) {
				if filepath.Ext(name) == ".blk" && texts[name] != text {
					t.Errorf("%s has other bytes", name)
				}
			}
			if _, err := os.Stat(left); !os.IsNotExist(err) {
				t.Errorf("the folder of copies: %v", err)
			}
		})
	}
}

// readingsFiles returns the block files of the readings.
func readingsFiles(t *testing.T, dir string) (list []os.FileInfo) {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(filepath.Dir(readingsBlock(dir)), "*.blk"))
	for _, path := range paths {
		st, serr := os.Stat(path)
		if err = serr; err != nil {
			break
		}
		list = append(list, st)
	}
	if err != nil {
		t.Fatal(err)
	}
	return list
}

// TestCopyOfTailIsRead has a copy of a block file differ from what was read before: it would not get the name.
func TestCopyOfTailIsRead(t *testing.T) {
	dir := mustFillSmall(t)
	s := mustOpen(t, options(dir))
	text := mustRead(t, block(dir, 1))
	zeros := append(slices.Clone(text[:len(text)-4000%len(text)]), make([]byte, 4000%len(text))...)
	for name, tt := range map[string]struct {
		text  []byte
		whole bool
	}{
		"as it was":    {text, true},
		"zeros at end": {zeros, false},
		"cut off":      {text[:len(text)/2], false},
		"longer":       {append(slices.Clone(text), 1), false},
		"one record":   {text[:records(text)[len(records(text))-1]], false},
		"nothing":      {nil, false},
	} {
		copied := t.TempDir()
		mustWrite(t, filepath.Join(copied, "1.blk"), tt.text)
		if err := store.SameRecords(s.Events(), copied, 7, int64(len(text))); (err == nil) != tt.whole {
			t.Errorf("%s: %v", name, err)
		}
	}
}
