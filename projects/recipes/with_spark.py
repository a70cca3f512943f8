"""Annotate records with Spark: with_spark.py MODEL RECORDS.jsonl RESULTS.parquet."""

import sys
from collections.abc import Iterator
from typing import Any

from pyspark.sql import SparkSession
from pyspark.sql.types import BinaryType, StructField, StructType


def main() -> None:
    model, source, target = sys.argv[1:]
    spark = SparkSession.builder.appName("annotation").getOrCreate()
    spark.sparkContext.addPyFile(f"{sys.path[0]}/pipeline.py")
    records = spark.read.json(source)

    def annotate(batches: Iterator[Any]) -> Iterator[Any]:
        from pipeline import annotated

        for batch in batches:
            yield batch.assign(doc=annotated(model, batch["text"]))

    schema = StructType([*records.schema, StructField("doc", BinaryType())])
    records.mapInPandas(annotate, schema).write.parquet(target, mode="overwrite")
    spark.stop()


if __name__ == "__main__":
    main()
