// An application on the document client, run by test_javascript with nothing but an endpoint in its environment.

import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import {
  CreateTableCommand,
  DeleteTableCommand,
  DynamoDBClient,
  waitUntilTableExists,
  waitUntilTableNotExists,
} from "@aws-sdk/client-dynamodb";
import {
  BatchWriteCommand,
  DynamoDBDocumentClient,
  GetCommand,
  paginateQuery,
  PutCommand,
  QueryCommand,
  TransactWriteCommand,
  UpdateCommand,
} from "@aws-sdk/lib-dynamodb";

const TableName = `javascript-${randomBytes(4).toString("hex")}`;
const client = new DynamoDBClient({});
const documents = DynamoDBDocumentClient.from(client);
const waiter = { client, maxWaitTime: 20, minDelay: 1, maxDelay: 1 };

await client.send(
  new CreateTableCommand({
    TableName,
    KeySchema: [
      { AttributeName: "pk", KeyType: "HASH" },
      { AttributeName: "sk", KeyType: "RANGE" },
    ],
    AttributeDefinitions: [
      { AttributeName: "pk", AttributeType: "S" },
      { AttributeName: "sk", AttributeType: "N" },
    ],
    BillingMode: "PAY_PER_REQUEST",
  }),
);
await waitUntilTableExists(waiter, { TableName });

const item = {
  pk: "a",
  sk: 1,
  text: "ä𝄞",
  raw: new Uint8Array([0, 255]),
  tags: new Set(["x", "y"]),
  nested: { list: [1, "two", null, true], empty: {} },
};
await documents.send(new PutCommand({ TableName, Item: item }));
const { Item: found } = await documents.send(new GetCommand({ TableName, Key: { pk: "a", sk: 1 } }));
assert.deepEqual(found, item);

const { Attributes: changed } = await documents.send(
  new UpdateCommand({
    TableName,
    Key: { pk: "a", sk: 1 },
    UpdateExpression: "SET #n.#l[0] = :v REMOVE #t",
    ExpressionAttributeNames: { "#n": "nested", "#l": "list", "#t": "text" },
    ExpressionAttributeValues: { ":v": 2 },
    ReturnValues: "ALL_NEW",
  }),
);
assert.equal(changed.nested.list[0], 2);
assert.equal("text" in changed, false);

await assert.rejects(
  documents.send(
    new PutCommand({
      TableName,
      Item: { pk: "a", sk: 1 },
      ConditionExpression: "attribute_not_exists(pk)",
      ReturnValuesOnConditionCheckFailure: "ALL_OLD",
    }),
  ),
  (error) => error.name === "ConditionalCheckFailedException" && error.Item.sk.N === "1",
);

await documents.send(
  new BatchWriteCommand({
    RequestItems: {
      [TableName]: Array.from({ length: 25 }, (_, sk) => ({ PutRequest: { Item: { pk: "many", sk } } })),
    },
  }),
);
const query = {
  TableName,
  KeyConditionExpression: "pk = :p AND sk >= :s",
  ExpressionAttributeValues: { ":p": "many", ":s": 5 },
};
const seen = [];
for await (const page of paginateQuery({ client: documents, pageSize: 7 }, { ...query })) {
  seen.push(...page.Items.map(({ sk }) => sk));
}
assert.deepEqual(seen, Array.from({ length: 20 }, (_, number) => number + 5));
const last = await documents.send(new QueryCommand({ ...query, ScanIndexForward: false, Limit: 1 }));
assert.equal(last.Items[0].sk, 24);

await assert.rejects(
  documents.send(
    new TransactWriteCommand({
      TransactItems: [
        { Put: { TableName, Item: { pk: "new", sk: 1 } } },
        { Delete: { TableName, Key: { pk: "a", sk: 1 }, ConditionExpression: "attribute_not_exists(pk)" } },
      ],
    }),
  ),
  (error) =>
    error.name === "TransactionCanceledException" && error.CancellationReasons[1].Code === "ConditionalCheckFailed",
);

await client.send(new DeleteTableCommand({ TableName }));
await waitUntilTableNotExists(waiter, { TableName });
console.log("done");
