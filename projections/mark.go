package projections

import "go.etcd.io/bbolt"

// The bucket "mark" says what is in the file, and how. It is found in a file of any schema.
var (
	markName  = []byte("mark")
	schemaKey = []byte("schema")
)

func readSchema(tx *bbolt.Tx) (schema string, ok bool) {
	b := tx.Bucket(markName)
	if b == nil {
		return "", false
	}
	return string(b.Get(schemaKey)), true
}

// writeSchema makes an empty file a projection.
func writeSchema(tx *bbolt.Tx, schema string) error {
	b, err := tx.CreateBucketIfNotExists(markName)
	if err != nil {
		return err
	}
	if _, err := tx.CreateBucketIfNotExists(bucketName); err != nil {
		return err
	}
	return b.Put(schemaKey, []byte(schema))
}
