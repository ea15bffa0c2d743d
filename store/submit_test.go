package store_test

import (
	"strings"
	"testing"

	"ledge/domain"
	"ledge/store"
	"ledge/store/storetest"
)

// One submission writes no more than its bytes, and one event over them; another one begins anew.
func TestSubmitBytes(t *testing.T) {
	s := mustOpen(t, options(t.TempDir()))
	a, err := store.NewAppender(t.Context(), s.Events(), storetest.NewProjection(), store.AppenderOptions{SubmitBytes: 30 << 10})
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	large := []domain.Request{
		storetest.AddLarge("a", 20<<10), storetest.AddLarge("b", 20<<10), storetest.Nothing(), storetest.AddLarge("c", 1),
	}
	got, err := a.Submit(t.Context(), large...)
	if err != nil || got[0].Seq != 1 || got[1].Seq != 2 {
		t.Fatalf("got %+v, %v, want the first two recorded", got, err)
	}
	for i, o := range got[2:] {
		if domain.CodeOf(o.Err) != domain.TooLarge || !strings.Contains(o.Err.Error(), "those of one request may take 30720; send the rest in another request") {
			t.Errorf("request %d: got %+v", 2+i, o)
		}
	}
	if got, err = a.Submit(t.Context(), large[3]); err != nil || got[0].Seq != 3 {
		t.Errorf("the next submission: got %+v, %v", got, err)
	}
}
