"""A door of the race: places and pays orders through psycopg, each in a transaction. Reads commands, answers each."""
import os
import sys
import threading
import traceback

try:
    import psycopg
except ImportError:
    import psycopg2 as psycopg

CONNECTIONS = 8
reading, writing = threading.Lock(), threading.Lock()


def place(cursor, order_id, due_at):
    cursor.execute("INSERT INTO purchases VALUES (%s)", [order_id])
    cursor.execute("SELECT delay_queue.schedule('test.own', due_at => %s, key => %s)", [due_at, order_id])
    return True


def pay(cursor, order_id):
    cursor.execute("UPDATE purchases SET status = 'PAID' WHERE id = %s AND status = 'UNPAID'", [order_id])
    is_paid = cursor.rowcount == 1
    cursor.execute("SELECT delay_queue.cancel('test.own', %s)", [order_id])
    return is_paid


def serve():
    connection = psycopg.connect(os.environ["DATABASE_URL"])
    while True:
        with reading:
            words = sys.stdin.readline().split()
        if not words:
            return connection.close()
        [verb, *arguments] = words
        with connection.cursor() as cursor:
            is_true = {"place": place, "pay": pay}[verb](cursor, *arguments)
        connection.commit()
        with writing:
            print(verb, arguments[0], "yes" if is_true else "no", flush=True)


def serve_or_die():
    try:
        serve()
    except BaseException:
        traceback.print_exc()
        os._exit(1)


for _ in range(CONNECTIONS):
    threading.Thread(target=serve_or_die).start()
